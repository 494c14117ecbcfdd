// Values of a view's parameters: from texts, to texts, and which of them apply.

export function defaults(view) {
  return Object.fromEntries(view.parameters.map((p) => [p.name, p.default]));
}

export function applies(parameter, state) {
  const conditions = Object.entries(parameter.shown_when ?? {});
  return conditions.every(([name, values]) => values.includes(state[name]));
}

// Those that the picture depends on, given by the server's words.
export function applying(view, state) {
  return view.parameters.filter((p) => applies(p, state));
}

// What is no number stays a text: the server refuses it in the library's words.
export function parsed(parameter, text) {
  if (parameter.kind === "toggle") return text === "true" || text === "1";
  if (parameter.kind === "number" || parameter.kind === "integer") {
    const value = Number(text);
    return text.trim() === "" || Number.isNaN(value) ? text : value;
  }
  const choice = (parameter.choices ?? []).find((c) => String(c.value) === text);
  return choice === undefined ? text : choice.value;
}

export function named(parameter, value) {
  const choice = (parameter.choices ?? []).find((c) => c.value === value);
  return choice ? choice.label : String(value);
}

export function inWords(view, state) {
  return applying(view, state)
    .filter((p) => p.kind !== "hidden" && p.for !== "runs" && state[p.name] !== "")
    .map((p) => `${p.label} ${p.symbol ? `${p.symbol} = ` : ""}${named(p, state[p.name])}`)
    .join(", ");
}

// The place in a list of the value that is nearest; of a text, that of the same one.
export function nearest(values, value) {
  const same = values.indexOf(value);
  if (same >= 0 || typeof value !== "number") return Math.max(same, 0);
  const distances = values.map((v) => Math.abs(v - value));
  return distances.indexOf(Math.min(...distances));
}
