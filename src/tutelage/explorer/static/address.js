// The address has the whole state of the page: view, setting, second setting (b.), scales, frame.
import { applying, defaults, parsed } from "./parameters.js";

export function read(hash, views) {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const view = views.find((v) => v.name === given.get("view")) ?? views[0];
  const a = setting(given, "", view, defaults(view));
  const compare = given.get("compare") === "1";
  const b = compare ? setting(given, "b.", view, a) : null;
  return {
    view: view.name,
    settings: compare ? { a, b } : { a },
    axes: axes(given.get("axes")),
    frame: Math.max(0, Math.trunc(Number(given.get("frame")) || 0)),
  };
}

export function written(page, view) {
  const { a, b } = page.settings;
  const words = new URLSearchParams({ view: page.view });
  for (const p of applying(view, a)) words.set(p.name, a[p.name]);
  if (b) words.set("compare", "1");
  for (const p of b ? applying(view, b) : []) {
    if (b[p.name] !== a[p.name] || !words.has(p.name)) words.set(`b.${p.name}`, b[p.name]);
  }
  const scales = Object.entries(page.axes).map(([axis, scale]) => `${axis}:${scale}`);
  if (scales.length) words.set("axes", scales.join(","));
  if (page.frame) words.set("frame", page.frame);
  return `#${words}`;
}

function setting(given, prefix, view, otherwise) {
  const state = { ...otherwise };
  for (const p of view.parameters) {
    const text = given.get(prefix + p.name);
    if (text !== null) state[p.name] = parsed(p, text);
  }
  return state;
}

function axes(text) {
  const pairs = (text ?? "").split(",").map((pair) => pair.split(":"));
  return Object.fromEntries(pairs.filter((pair) => ["linear", "log"].includes(pair[1])));
}
