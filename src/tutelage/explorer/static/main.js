// The explorer: controls request pictures, pictures are drawn, the address is updated.
import { read, written } from "./address.js";
import { Controls } from "./controls.js";
import { spoken, table } from "./numbers.js";
import { gallery } from "./papers.js";
import { inWords } from "./parameters.js";
import { Player, at } from "./player.js";
import { Setting } from "./setting.js";
import { source } from "./source.js";
import { Stage } from "./stage.js";
import { Tools } from "./tools.js";
import { find, indexed, make, say } from "./words.js";

const SAME_MOVE = 1000; // ms; moves of one control that follow each other are one step back
const QUIET = 1000; // ms without a change before numbers are read aloud

const from = source();
const stage = new Stage(find("settings"), scaled, draw);
const player = new Player(find("player"), moved);
const tools = new Tools(find("tools"), from);
const visited = new Map(); // view -> its last address
let views = [];
let view = null;
let page = null; // what the address says
let settings = {}; // slot -> Setting
let edited = "a"; // the setting that the controls change
let controls = null;
let dragging = false;
let pushed = { control: "", time: 0 };
let drawing = 0;
let announcing = 0;

async function start() {
  try {
    views = await from.views();
  } catch (problem) {
    return say(find("status"), problem.message);
  }
  say(find("note"), from.note ?? find("note").textContent);
  const links = views.map((v) => make("a", { href: `#view=${v.name}`, "data-view": v.name }, v.title));
  find("views").replaceChildren(...links);
  find("stop").addEventListener("click", () => Object.values(settings).forEach((s) => s.waiting && s.stop()));
  find("run").addEventListener("click", run);
  find("controls").addEventListener("submit", (event) => event.preventDefault());
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault(); // the address is not for this
    find("title").focus();
  });
  addEventListener("popstate", arrive);
  for (const medium of ["(prefers-color-scheme: dark)", "(max-width: 50rem)"]) {
    matchMedia(medium).addEventListener("change", draw);
  }
  matchMedia("print").addEventListener("change", drawNow); // paper does not wait for the next frame
  await arrive();
}

// Update the page to the state in the address.
async function arrive() {
  const before = page;
  page = read(location.hash, views);
  if (!page.settings[edited]) edited = "a";
  if (page.view !== before?.view && !(await enter())) return; // another view was asked for meanwhile
  for (const state of Object.values(page.settings)) controls.reveal(state);
  for (const slot of Object.keys(settings)) if (!page.settings[slot]) drop(slot);
  for (const slot of Object.keys(page.settings)) {
    if (!settings[slot] || !alike(before?.settings[slot], page.settings[slot])) ask(slot);
  }
  draw();
}

async function enter() {
  Object.keys(settings).forEach(drop);
  clearTimeout(announcing);
  say(find("announced"), "");
  player.pause();
  stage.clear();
  view = views.find((v) => v.name === page.view);
  document.title = `${view.title} – tutelage`;
  say(find("title"), view.title);
  find("formula").innerHTML = view.formula ?? "";
  find("formula").hidden = !view.formula;
  find("formula").setAttribute("aria-label", view.formula_text ?? "");
  for (const sign of find("formula").querySelectorAll("mo")) sign.setAttribute("stretchy", "false");
  const documentation = find("documentation");
  documentation.hidden = !view.documentation;
  if (view.documentation) documentation.href = view.documentation;
  find("defaults").href = `#view=${view.name}`;
  controls = null;
  const papers = view.name === "papers";
  for (const id of ["side", "stage", "beside"]) find(id).hidden = papers;
  find("figures").hidden = !papers;
  find("main").className = papers ? "gallery" : "";
  const here = view;
  const figures = papers ? await from.papers() : null;
  const files = view.parameters.some((p) => p.kind === "file") ? await from.files(view) : [];
  if (view !== here) return false;
  if (papers) find("figures").replaceChildren(...gallery(figures, views));
  controls = new Controls(find("controls"), view, files, changed);
  return true;
}

function ask(slot) {
  if (view.name === "papers") return;
  settings[slot] ??= new Setting(slot, from, arrived, draw);
  settings[slot].ask(view, () => ({ ...page.settings[slot] }));
}

function drop(slot) {
  settings[slot].leave();
  delete settings[slot];
}

// Handle a change of a control.
function changed(name, value, settled) {
  const same = page.settings[edited][name] === value;
  page.settings[edited][name] = value;
  dragging = !settled;
  if (settled) remember(name);
  const parameter = view.parameters.find((p) => p.name === name);
  if (!same && parameter.for !== "runs") ask(edited);
  draw();
}

// Send the branch that the server follows back with the next request.
function arrived({ slot, picture }) {
  Object.assign(page.settings[slot], picture.next);
  if (!dragging) replace();
  clearTimeout(announcing);
  announcing = setTimeout(() => say(find("announced"), spoken(at(picture, page.frame).numbers)), QUIET);
}

function scaled(panel, axis, scale) {
  page.axes[`${panel}.${axis}`] = scale;
  remember(`${panel}.${axis}`);
  draw();
}

function moved(frame, settled) {
  page.frame = frame;
  if (settled) remember("frame");
  draw();
}

function compare(wanted) {
  if (wanted) page.settings.b = { ...page.settings.a };
  else {
    delete page.settings.b;
    if (settings.b) drop("b");
  }
  edited = wanted ? "b" : "a";
  remember("compare");
  if (wanted) ask("b");
  draw();
}

function run() {
  const all = Object.values(settings);
  if (all.some((s) => s.running && !s.running.ended)) all.forEach((s) => s.halt());
  else all.forEach((s) => s.run());
  draw();
}

// One step of the browser history per move of a slider, however many values it passes.
function remember(control) {
  const now = Date.now();
  const same = control === pushed.control && now - pushed.time < SAME_MOVE;
  pushed = { control, time: now };
  if (same) return replace();
  const address = written(page, view);
  if (address !== location.hash) history.pushState(null, "", address);
}

function replace() {
  const address = written(page, view);
  if (address !== location.hash) history.replaceState(null, "", address);
}

// Draw the page once for simultaneous changes.
function draw() {
  cancelAnimationFrame(drawing);
  drawing = requestAnimationFrame(drawNow);
}

function drawNow() {
  visited.set(view.name, written(page, view));
  for (const link of find("views").children) {
    link.href = visited.get(link.dataset.view) ?? link.href;
    if (link.dataset.view !== view.name) link.removeAttribute("aria-current");
    else if (!link.hasAttribute("aria-current")) {
      link.setAttribute("aria-current", "page");
      // On a phone it may be out of sight.
      find("views").scrollLeft = link.offsetLeft - find("views").offsetLeft;
    }
  }
  if (view.name === "papers" || !controls) return;
  const other = edited === "a" ? "b" : "a";
  const pictures = seen();
  const failure = pictures[edited] && settings[edited].failure;
  const said = { failure, marks: pictures[edited]?.slider_marks ?? {} };
  controls.show(page.settings[edited], said, page.settings[other], other.toUpperCase());
  drawChoice();
  drawLine();
  const any = Object.values(pictures)[0];
  // What is seen is of an older setting: the last request has failed, or is still computed.
  const old = Object.values(settings).some((s) => s.failure || s.quick.waiting);
  for (const id of ["stage", "numbers", "messages"]) find(id).classList.toggle("old", old);
  player.show(any?.frames ?? [], page.frame);
  find("numbers").replaceChildren(...table(pictures));
  const messages = [...new Set(Object.values(pictures).flatMap((p) => p.messages))];
  find("messages").replaceChildren(...messages.map((text) => make("li", {}, ...indexed(text))));
  find("tools").hidden = !pictures[edited];
  if (pictures[edited]) tools.show(view, page, pictures, edited);
  const words = Object.entries(page.settings).map(([slot, state]) => {
    return page.settings.b ? `${slot.toUpperCase()}: ${inWords(view, state)}` : inWords(view, state);
  });
  say(find("printed"), words.join("; "));
  const versions = Object.values(settings).map((setting) => [setting.slot, setting.version]);
  if (any) stage.draw(pictures, page.axes, view.name, [versions, page.frame]);
}

// Draw the pictures at the current frame.
function seen() {
  const pictures = {};
  for (const slot of Object.keys(page.settings)) {
    const picture = settings[slot]?.seen();
    if (picture) pictures[slot] = at(picture, page.frame);
  }
  return pictures;
}

function drawChoice() {
  const comparing = Boolean(page.settings.b);
  const place = find("choose");
  if (!place.firstChild) {
    const box = make("input", { type: "checkbox", id: "compare" });
    box.addEventListener("change", () => compare(box.checked));
    const switches = ["a", "b"].map((slot) => {
      const radio = make("input", { type: "radio", name: "edited", value: slot, id: `edit-${slot}` });
      radio.addEventListener("change", () => {
        edited = slot;
        draw();
      });
      return make("span", {}, radio, make("label", { for: `edit-${slot}` }, slot.toUpperCase()));
    });
    const which = make("p", { id: "which" }, make("span", {}, "Controls of setting"), ...switches);
    place.append(make("p", {}, box, make("label", { for: "compare" }, "Compare two settings")), which);
  }
  find("compare").checked = comparing;
  find("which").hidden = !comparing;
  find(`edit-${edited}`).checked = true;
}

function drawLine() {
  const all = Object.values(settings);
  const waiting = all.find((s) => s.waiting);
  const failed = all.find((s) => s.failure && !toldBeside(s));
  const running = all.filter((s) => s.running);
  const going = running.some((s) => !s.running.ended);
  find("stop").hidden = !waiting;
  find("run").hidden = !view.streams || from.offline || !all.some((s) => s.picture);
  say(find("run"), going ? "Stop the runs" : "Run finite networks");
  const runs = running.map(({ running: { ended, done, of, message } }) => {
    return ended || !of ? message : `${done} of ${of}: ${message}`;
  });
  const words = [...runs, waiting && `${waiting.waiting}…`, !waiting && failed?.failure.message];
  say(find("status"), words.filter(Boolean).join(" · "));
  find("status").className = !waiting && (failed || running.some((s) => s.running.failed)) ? "problem" : "";
  find("stage").setAttribute("aria-busy", String(all.some((s) => s.quick.busy)));
}

// Show an error next to its control if there is one, and keep the last picture.
function toldBeside({ slot, picture, failure }) {
  return picture && slot === edited && controls.tells(failure, page.settings[slot]);
}

function alike(one, two) {
  return one && two && Object.keys(two).every((name) => one[name] === two[name]);
}

start();
