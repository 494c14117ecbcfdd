// The panels of each setting, updated in place without flicker.
import { framed } from "./player.js";
import { legend } from "./legend.js";
import { bounds, entries, extent, figure, merged, plotly, themeOf } from "./picture.js";
import { make, say } from "./words.js";

const OPTIONS = { displayModeBar: false, displaylogo: false, doubleClick: "reset" };
const NARROW = "(max-width: 50rem)";

export class Stage {
  #places = new Map(); // slot -> {section, names, plots}
  #drawn = "";
  #ink = "";
  #off = new Map(); // panel -> names of curves that are not drawn
  #resized = new ResizeObserver((entries) => {
    for (const { target } of entries) if (target.data) window.Plotly.Plots.resize(target);
  });

  // scaled(panel, axis, scale): the reader has asked for another scale; again(): for fewer curves.
  constructor(place, scaled, again) {
    Object.assign(this, { place, scaled, again });
  }

  clear() {
    for (const slot of [...this.#places.keys()]) this.#drop(slot);
    this.#off.clear();
    this.#drawn = "";
  }

  // pictures: {slot: picture}; axes: {"panel.x": "log"}; version: nothing is drawn twice.
  async draw(pictures, axes, key, version) {
    const off = [...this.#off].map(([panel, names]) => [panel, ...names]);
    const now = JSON.stringify([key, version, axes, off, matchMedia(NARROW).matches]);
    const theme = themeOf(document.documentElement);
    if (now === this.#drawn && theme.ink === this.#ink) return;
    this.#drawn = now;
    this.#ink = theme.ink;
    const slots = Object.keys(pictures);
    for (const slot of [...this.#places.keys()]) if (!slots.includes(slot)) this.#drop(slot);
    this.place.dataset.settings = slots.length;
    const Plotly = await plotly();
    if (this.#drawn !== now) return; // something newer came while the script was loading
    for (const slot of slots) {
      const { plots, heading } = this.#place(slot, pictures[slot].panels);
      heading.hidden = slots.length === 1;
      for (const panel of pictures[slot].panels) {
        const off = this.#hidden(panel.name);
        const chosen = { ...options(panel, pictures, axes, key), off };
        const plot = plots.get(panel.name);
        this.#caption(plot, panel, chosen.scales, slots.length > 1 ? slot : "");
        const shown = merged(panel, chosen);
        const { data, layout } = figure(shown, theme, chosen);
        Plotly.react(plot, data, layout, OPTIONS);
        plot.parentElement.classList.toggle("old", Boolean(panel.stale));
        legend(plot.nextElementSibling, entries(shown, theme), off, this.again);
      }
    }
  }

  #hidden(panel) {
    if (!this.#off.has(panel)) this.#off.set(panel, new Set());
    return this.#off.get(panel);
  }

  #place(slot, panels) {
    const names = panels.map((panel) => panel.name).join(" ");
    const before = this.#places.get(slot);
    if (before?.names === names) return before;
    if (before) this.#drop(slot);
    const plots = new Map();
    const figures = panels.map((panel) => this.#frame(panel, plots));
    const heading = make("p", { class: "slot" }, slot.toUpperCase());
    const name = slot.toUpperCase();
    const reached = matchMedia(NARROW).matches ? 0 : null; // what scrolls is reached by keys
    const group = { class: "panels", role: "group", "aria-label": `panels ${name}`, tabindex: reached };
    const rows = make("div", group, ...figures);
    const parts = [heading, rows, pager(rows, figures.length)];
    const section = make("section", { class: "setting", "aria-label": `setting ${name}` }, ...parts);
    if (slot === "a") this.place.prepend(section);
    else this.place.append(section);
    const made = { section, names, plots, heading };
    this.#places.set(slot, made);
    return made;
  }

  #frame(panel, plots) {
    const plot = make("div", { class: "plot", role: "img" });
    plots.set(panel.name, plot);
    this.#resized.observe(plot);
    const buttons = ["x", "y"]
      .filter((name) => panel[name].scales.length > 1)
      .map((name) => make("button", { type: "button", class: "scale", "data-axis": name }, `log ${name}`));
    for (const button of buttons) {
      button.addEventListener("click", () => {
        const log = button.getAttribute("aria-pressed") === "true";
        this.scaled(panel.name, button.dataset.axis, log ? "linear" : "log");
      });
    }
    const caption = make("figcaption", {}, make("h2", {}, panel.title), ...buttons);
    const curves = make("ul", { class: "legend", "aria-label": `curves of ${panel.title}` });
    return make("figure", { class: "panel" }, caption, plot, curves);
  }

  #caption(plot, panel, scales, slot) {
    const name = slot ? `${panel.title}, setting ${slot.toUpperCase()}` : panel.title;
    plot.setAttribute("aria-label", `${name}. ${panel.description}`);
    const caption = plot.parentElement.firstElementChild;
    say(caption.firstElementChild, panel.title);
    for (const button of caption.querySelectorAll("button")) {
      const { axis } = button.dataset;
      button.setAttribute("aria-pressed", String((scales[axis] ?? panel[axis].scale) === "log"));
      button.setAttribute("aria-label", `log ${axis} axis of ${name}`);
    }
  }

  #drop(slot) {
    const { section, plots } = this.#places.get(slot);
    for (const plot of plots.values()) {
      this.#resized.unobserve(plot);
      window.Plotly.purge(plot);
    }
    section.remove();
    this.#places.delete(slot);
  }
}

// On a phone one panel is visible at a time; these buttons, or a swipe, show the next one.
function pager(rows, count) {
  const told = make("span", {}, `1 of ${count}`);
  const at = () => Math.round(rows.scrollLeft / rows.clientWidth);
  const all = (left) => document.querySelectorAll(".panels").forEach((one) => one.scrollTo({ left }));
  const go = (step) => () => all((at() + step) * rows.clientWidth);
  rows.addEventListener("scroll", () => say(told, `${at() + 1} of ${count}`));
  rows.addEventListener("scrollend", () => all(at() * rows.clientWidth));
  const back = make("button", { type: "button", "aria-label": "previous panel", onclick: go(-1) }, "‹");
  const on = make("button", { type: "button", "aria-label": "next panel", onclick: go(1) }, "›");
  return make("div", { class: "pager", hidden: count < 2 }, back, told, on);
}

// Scales chosen by the user, and common ranges of compared settings and of frames.
export function options(panel, pictures, axes, key) {
  const scales = {};
  for (const name of ["x", "y"]) {
    const chosen = axes[`${panel.name}.${name}`];
    if (panel[name].scales.includes(chosen)) scales[name] = chosen;
  }
  const alike = Object.values(pictures).flatMap((picture) => versions(picture, panel.name));
  const ranges = {};
  const flat = alike.every((p) => p.traces.every((t) => t.kind !== "heat"));
  for (const name of flat ? ["x", "y"] : []) {
    const scale = scales[name] ?? panel[name].scale;
    // Runs on top do not move the abscissa of the theory below them.
    if (name === "x") ranges.x = extent(alike.map((p) => ({ ...p, traces: p.own ?? p.traces })), "x", scale);
    else if (alike.length > 1) ranges.y = extent(alike, "y", scale);
  }
  const heats = alike.flatMap((p) => p.traces.filter((t) => t.kind === "heat").flatMap((t) => t.z.flat()));
  if (heats.length) panel.z = bounds(heats);
  return { scales, ranges, narrow: matchMedia(NARROW).matches, key };
}

// Return a panel in its current form and in every frame.
function versions(picture, name) {
  const now = picture.panels.filter((panel) => panel.name === name);
  const frames = (picture.frames ?? []).filter((frame) => frame.traces[name]);
  return [...now, ...now.flatMap((panel) => frames.map((frame) => framed(panel, frame)))];
}
