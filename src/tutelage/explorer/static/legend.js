// Legend below a panel; each entry is a button that hides or shows its curve.
import { indexed, make } from "./words.js";

const SHAPES = {
  circle: "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
  square: "M-3.5-3.5h7v7h-7z",
  diamond: "M0-4.8L4.8 0L0 4.8L-4.8 0z",
  "triangle-up": "M0-4.5L4.5 3.5h-9z",
  cross: "M-1.5-4.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z",
  x: "M-4-2.4L-2.4-4L0-1.6L2.4-4L4-2.4L1.6 0L4 2.4L2.4 4L0 1.6L-2.4 4L-4 2.4L-1.6 0z",
  star: "M0-5L1.5-1.5L5-1.2L2.3 1.2L3.1 4.8L0 2.9L-3.1 4.8L-2.3 1.2L-5-1.2L-1.5-1.5z",
  hexagon: "M-4.5 0L-2.2-3.9h4.4L4.5 0L2.2 3.9h-4.4z",
};
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
  const name = make("span", {}, ...indexed(entry.name));
  const button = make("button", { type: "button", "data-curve": entry.name }, swatch(entry), name);
  button.addEventListener("click", () => {
    if (!off.delete(entry.name)) off.add(entry.name);
    again();
  });
  return make("li", {}, button);
}

function swatch({ colour, points, gaps }) {
  const drawing = drawn("svg", { width: 30, height: 10, viewBox: "0 0 30 10", "aria-hidden": "true" });
  const stroke = { stroke: colour, "stroke-width": 2.2, "stroke-dasharray": gaps ?? "none" };
  const shape = points
    ? drawn("path", { d: SHAPES[points], fill: colour, transform: "translate(15 5)" })
    : drawn("line", { x1: 1, x2: 29, y1: 5, y2: 5, ...stroke });
  drawing.append(shape);
  return drawing;
}

function drawn(tag, attributes) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}
