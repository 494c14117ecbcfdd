// Elements of the page and formatted numbers.

export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export function find(id) {
  return document.getElementById(id);
}

// Set a text only if it has changed, because screen readers read every change.
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// Write a number with the digits that its error allows, six without an error.
export function digits(value, error) {
  if (typeof value !== "number") return String(value);
  if (Math.abs(value) < 1e6 && String(value).length < 7 && !(error > 0)) return minus(tidy(String(value)));
  if (Math.abs(value) < 1e-4 && !(error > 0)) return minus(tidy(value.toExponential(4)));
  const known = error > 0 ? Math.ceil(Math.log10(Math.abs(value) / error)) : 6;
  return minus(tidy(value.toPrecision(Math.min(Math.max(known, 2), 10))));
}

export function shown(number) {
  if (number.value === null || number.value === undefined) return "–";
  const value = digits(number.value, number.error);
  return number.error > 0 ? `${value} ± ${tidy(number.error.toPrecision(1))}` : value;
}

// Write ε_g with a subscript; names such as learning_rate are unchanged.
export function indexed(text) {
  const parts = String(text ?? "").split(/(?<!\p{L}{2})_(\p{L}{1,2}|\d+)(?![\p{L}\d])/u);
  return parts.map((part, i) => (i % 2 ? make("sub", {}, part) : part)).filter((part) => part !== "");
}

// Write text between backticks as code.
export function coded(text) {
  const parts = text.split("`");
  return parts.map((part, i) => (i % 2 ? make("code", {}, part) : part));
}

export function symbol(text) {
  return text ? make("span", { class: "symbol" }, " ", ...indexed(text)) : null;
}

function tidy(text) {
  const [head, power] = text.split("e");
  return power === undefined ? head : `${head}e${Number(power)}`;
}

function minus(text) {
  return text.replace(/^-/, "−");
}
