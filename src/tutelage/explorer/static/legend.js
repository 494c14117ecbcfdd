// Names of curves below a panel; each is a button that takes its curve away and brings it back.
import { indexed, make } from "./words.js";

const SVG = "http://www.w3.org/2000/svg";

export function legend(place, entries, off, again) {
  const key = JSON.stringify(entries);
  if (place.dataset.key !== key) place.replaceChildren(...entries.map((entry) => item(entry, off, again)));
  place.dataset.key = key;
  place.hidden = !entries.length;
  for (const button of place.querySelectorAll("button")) {
    button.setAttribute("aria-pressed", String(!off.has(button.dataset.curve)));
  }
}

function item(entry, off, again) {
  const button = make("button", { type: "button", "data-curve": entry.name, "aria-pressed": "true" }, swatch(entry), make("span", {}, ...indexed(entry.name)));
  button.addEventListener("click", () => {
    if (!off.delete(entry.name)) off.add(entry.name);
    again();
  });
  return make("li", {}, button);
}

function swatch({ colour, points, gaps }) {
  const drawing = drawn("svg", { width: 30, height: 10, viewBox: "0 0 30 10", "aria-hidden": "true" });
  const line = { x1: 1, x2: 29, y1: 5, y2: 5, stroke: colour, "stroke-width": 2.2, "stroke-dasharray": gaps ?? "none" };
  drawing.append(points ? drawn("circle", { cx: 15, cy: 5, r: 4, fill: colour }) : drawn("line", line));
  return drawing;
}

function drawn(tag, attributes) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}
