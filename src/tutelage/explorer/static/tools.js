// Buttons next to the picture: code, data and pictures.
import { copy, csv, png, save, svg } from "./saving.js";
import { options } from "./stage.js";
import { make, say } from "./words.js";

export class Tools {
  #seen = null; // {view, page, pictures, slot}

  constructor(place, source) {
    this.source = source;
    this.python = make("pre", { tabindex: 0, role: "group", "aria-label": "Python" });
    this.command = make("pre", { tabindex: 0, role: "group", "aria-label": "command" });
    this.told = make("p", { role: "status", class: "told" });
    this.heading = make("h2", {}, "Save or copy");
    this.commandButton = this.#button("Copy as command", () => this.#copied(this.command));
    this.nc = make("a", { class: "button", download: "" }, "Data (NetCDF)");
    this.csv = source.offline
      ? this.#button("Data (CSV)", () => save(csv(this.#panels()), this.#name("csv"), "text/csv"))
      : make("a", { class: "button", download: "" }, "Data (CSV)");
    this.nc.hidden = source.offline;
    this.code = make("details", {}, make("summary", {}, "The code"), this.python, this.command);
    const buttons = [
      this.#button("Copy as Python", () => this.#copied(this.python)),
      this.commandButton,
      this.nc,
      this.csv,
      this.#button("Picture (SVG)", () => this.#savePicture((text) => text, "svg", "image/svg+xml")),
      this.#button("Picture (PNG)", () => this.#savePicture(png, "png")),
      this.#button("Copy the link", () => this.#copyLink()),
      this.#button("Print", () => print()),
    ];
    place.replaceChildren(this.heading, make("div", { class: "buttons" }, ...buttons), this.told, this.code);
  }

  show(view, page, pictures, slot) {
    this.#seen = { view, page, pictures, slot };
    const picture = pictures[slot];
    const which = Object.keys(pictures).length > 1 ? ` setting ${slot.toUpperCase()}` : "";
    say(this.heading, `Save or copy${which}`);
    say(this.python, picture.python ?? "");
    say(this.command, picture.command ?? "");
    this.command.hidden = this.commandButton.hidden = !picture.command;
    if (this.source.offline) return;
    this.nc.href = this.source.data(view, page.settings[slot], "nc");
    this.csv.href = this.source.data(view, page.settings[slot], "csv");
  }

  #button(text, act) {
    return make("button", { type: "button", onclick: act }, text);
  }

  async #copied(element) {
    if (await copy(element.textContent)) return this.#say("Copied.");
    this.code.open = true;
    getSelection().selectAllChildren(element);
    this.#say("Selected below: press Ctrl+C to copy.");
  }

  async #copyLink() {
    this.#say((await copy(location.href)) ? "Copied." : "Copy it from the address bar.");
  }

  #say(text) {
    say(this.told, text);
    setTimeout(() => say(this.told, ""), 4000);
  }

  #panels() {
    return this.#seen.pictures[this.#seen.slot].panels;
  }

  async #savePicture(as, ending, type) {
    const { pictures, page } = this.#seen;
    const chosen = (panel) => options(panel, pictures, page.axes, "");
    const drawing = await svg(this.#panels(), (panel) => ({ ...chosen(panel), narrow: false, legend: true }));
    save(await as(drawing), this.#name(ending), type);
  }

  #name(ending) {
    return `${this.#seen.view.name}.${ending}`;
  }
}
