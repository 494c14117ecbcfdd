// Table of numbers next to the picture, with one column per setting.
import { indexed, make, shown, symbol } from "./words.js";

const SPOKEN = 4; // numbers that are read aloud after a change

export function table(pictures) {
  const slots = Object.keys(pictures);
  const rows = new Map();
  for (const slot of slots) {
    for (const number of pictures[slot].numbers) {
      const key = `${number.label} ${number.symbol ?? ""}`;
      if (!rows.has(key)) rows.set(key, {});
      rows.get(key)[slot] = number;
    }
  }
  if (!rows.size) return [];
  const titles = ["quantity", ...slots.map((slot) => slot.toUpperCase())];
  const cells = titles.map((title) => make("th", { scope: "col" }, title));
  const head = slots.length > 1 ? make("thead", {}, make("tr", {}, ...cells)) : null;
  const body = make("tbody", {}, ...[...rows.values()].map((row) => line(row, slots)));
  return [make("table", {}, make("caption", {}, "In numbers"), head, body)];
}

export function spoken(numbers) {
  return numbers
    .slice(0, SPOKEN)
    .map((n) => `${n.label}: ${shown(n)}`)
    .join("; ");
}

function line(row, slots) {
  const any = Object.values(row)[0];
  const cells = slots.map((slot) => (row[slot] ? cell(row[slot]) : make("td", {}, "–")));
  return make("tr", {}, make("th", { scope: "row" }, ...indexed(any.label), symbol(any.symbol)), ...cells);
}

function cell(number) {
  const reason = number.reason ? make("span", { class: "reason" }, ...indexed(number.reason)) : null;
  const kind = typeof number.value === "number" ? "number" : null;
  return make("td", { class: kind }, ...indexed(shown(number)), reason);
}
