// Values of the parameters of a view: parsing, writing, and which of them apply.

export function defaults(view) {
  return Object.fromEntries(view.parameters.map((p) => [p.name, p.default]));
}

export function applies(parameter, state) {
  const conditions = Object.entries(parameter.shown_when ?? {});
  return conditions.every(([name, values]) => values.includes(state[name]));
}

// Return the parameters that apply in a state.
export function applying(view, state) {
  return view.parameters.filter((p) => applies(p, state));
}

// A text that is not a number is sent as it is: the server refuses it with a message.
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

// Return the index of the nearest value in a list, or of the equal text.
export function nearest(values, value) {
  const same = values.indexOf(value);
  if (same >= 0 || typeof value !== "number") return Math.max(same, 0);
  const distances = values.map((v) => Math.abs(v - value));
  return distances.indexOf(Math.min(...distances));
}
