// Controls of a view, built from its parameters: a slider with a number field, choices, switches and
// texts.
import { applies, named, nearest, parsed } from "./parameters.js";
import { digits, indexed, make, say, symbol } from "./words.js";

const STEPS = 200; // of a logarithmic slider
const TYPING = 600; // ms after the last letter of a formula

export class Controls {
  #fields = new Map();

  // files: choices of a file; changed(name, value, settled): settled is false while a slider is dragged.
  constructor(form, view, files, changed) {
    this.view = view;
    const groups = new Map();
    for (const parameter of view.parameters.filter((p) => p.kind !== "hidden")) {
      const field = this.#field(parameter, files, changed);
      this.#fields.set(parameter.name, field);
      const name = parameter.group ?? "Parameters";
      groups.set(name, [...(groups.get(name) ?? []), field.row]);
    }
    const open = matchMedia("(max-width: 50rem)").matches ? 1 : 2;
    this.groups = [...groups].map(([name, rows], i) => {
      const body = make("fieldset", {}, make("legend", { class: "hidden" }, name), ...rows);
      return make("details", { open: i < open }, make("summary", {}, name), body);
    });
    form.replaceChildren(...this.groups);
  }

  // Groups with a value that is not the default are open.
  reveal(state) {
    for (const [name, { row, parameter }] of this.#fields) {
      if (state[name] !== parameter.default) row.closest("details").open = true;
    }
  }

  // Whether a failure is told beside its control, where there is one to see.
  tells(failure, state) {
    const field = this.#fields.get(failure.parameter);
    return Boolean(field && applies(field.parameter, state));
  }

  // failure: of the last request; marks: {name: [{at, label}]} beside sliders;
  // other: the setting that this one is compared with.
  show(state, { failure, marks }, other, otherName) {
    for (const [name, field] of this.#fields) {
      field.row.hidden = !applies(field.parameter, state);
      field.set(state[name]);
      const bad = failure?.parameter === name;
      for (const input of field.inputs) {
        if (bad) input.setAttribute("aria-invalid", "true");
        else input.removeAttribute("aria-invalid");
      }
      field.mark?.(marks[name] ?? []);
      say(field.problem, bad ? failure.message : "");
      if (bad) field.row.closest("details").open = true;
      const differs = other && other[name] !== state[name] && applies(field.parameter, other);
      say(field.other, differs ? `${otherName}: ${inSight(field.parameter, other[name])}` : "");
    }
    for (const group of this.groups) {
      group.hidden = [...group.querySelectorAll(".field")].every((row) => row.hidden);
    }
  }

  #field(parameter, files, changed) {
    const tell = (value, settled) => changed(parameter.name, value, settled);
    const made = kinds[parameter.kind](parameter, tell, files);
    const id = `field-${parameter.name}`;
    const describes = [`${id}-help`, `${id}-problem`, `${id}-other`].join(" ");
    made.inputs[0].id = id;
    for (const input of made.inputs) input.setAttribute("aria-describedby", describes);
    const label = make("label", { for: id }, parameter.label, symbol(parameter.symbol));
    const problem = make("p", { class: "problem", id: `${id}-problem` });
    const other = make("p", { class: "other", id: `${id}-other` });
    const help = make("p", { class: "help", id: `${id}-help` }, parameter.help ?? "");
    const row = make("div", { class: `field ${parameter.kind}` }, label, ...made.parts, other, help, problem);
    return { ...made, parameter, row, problem, other };
  }
}

function inSight(parameter, value) {
  return typeof value === "number" ? digits(value) : named(parameter, value);
}

const kinds = { number: numeric, integer: numeric, choice, toggle, text, file };

function numeric(parameter, changed) {
  const scale = positions(parameter);
  const limits = { min: parameter.minimum, max: parameter.maximum, step: "any" };
  const field = make("input", { type: "number", inputmode: "decimal", ...limits });
  const slider = make("input", { type: "range", min: scale.min, max: scale.max, step: scale.step });
  slider.setAttribute("aria-label", `${parameter.label}, slider`);
  const set = (value) => {
    if (document.activeElement !== field || Number(field.value) !== value) field.value = value;
    // Neighbouring positions may round to one value: a slider that is moved stays where it is.
    if (scale.value(Number(slider.value)) !== value) slider.value = scale.position(Number(value));
    slider.setAttribute("aria-valuetext", typeof value === "number" ? digits(value) : String(value));
  };
  const slid = (settled) => () => changed(scale.value(Number(slider.value)), settled);
  slider.addEventListener("input", slid(false));
  slider.addEventListener("change", slid(true));
  field.addEventListener("change", () => changed(parsed(parameter, field.value), true));
  const ticks = make("ul", { class: "ticks", "aria-label": `marks of ${parameter.label}` });
  const mark = (marks) => drawTicks(ticks, marks, scale);
  mark([]);
  return { parts: [field, slider, ticks], inputs: [field, slider], set, mark };
}

// Draw marks along a slider at the positions of their values.
function drawTicks(place, marks, scale) {
  const key = JSON.stringify(marks);
  if (place.dataset.key === key) return;
  place.dataset.key = key;
  place.hidden = !marks.length;
  const ticks = marks.map(({ at, label }) => {
    const part = (scale.position(at) - scale.min) / (scale.max - scale.min);
    const tick = make("li", {}, `${digits(Number(at.toPrecision(5)))} `, ...indexed(label));
    tick.style.setProperty("--part", Math.min(Math.max(part, 0), 1));
    return tick;
  });
  place.replaceChildren(...ticks);
}

// Map values to positions along a slider and back.
function positions({ kind, minimum, maximum, step, scale, zero, values }) {
  if (values) {
    const position = (value) => nearest(values, value);
    return { min: 0, max: values.length - 1, step: 1, value: (p) => values[p], position };
  }
  if (scale !== "log") {
    const places = Math.max(0, -Math.floor(Math.log10(step || 1)) + 2);
    const value = (p) => (kind === "integer" ? Math.round(p) : Number(p.toFixed(places)));
    return { min: minimum, max: maximum, step: step || "any", value, position: (v) => v };
  }
  const first = zero ? 1 : 0;
  const [low, high] = [Math.log10(minimum), Math.log10(maximum)];
  const exact = (p) => 10 ** (low + ((high - low) * (p - first)) / (STEPS - first));
  const value = (p) => {
    if (p < first) return 0;
    if (p <= first) return minimum;
    if (p >= STEPS) return maximum;
    return kind === "integer" ? Math.round(exact(p)) : Number(exact(p).toPrecision(3));
  };
  const part = (v) => (Math.log10(v) - low) / (high - low);
  const position = (v) => (v <= 0 ? 0 : Math.round(first + (STEPS - first) * part(v)));
  return { min: 0, max: STEPS, step: 1, value, position };
}

function choice(parameter, changed) {
  const options = parameter.choices.filter((c) => !parameter.values || parameter.values.includes(c.value));
  const input = make("select", {}, ...options.map((c) => make("option", { value: c.value }, c.label)));
  input.addEventListener("change", () => changed(parsed(parameter, input.value), true));
  return { parts: [input], inputs: [input], set: (value) => (input.value = String(value)) };
}

function file(parameter, changed, files) {
  const choices = files.map(({ name, label }) => ({ value: name, label }));
  return choice({ ...parameter, choices: choices.length ? choices : parameter.choices ?? [] }, changed);
}

function toggle(parameter, changed) {
  const input = make("input", { type: "checkbox" });
  input.addEventListener("change", () => changed(input.checked, true));
  return { parts: [input], inputs: [input], set: (value) => (input.checked = value) };
}

function text(parameter, changed) {
  const plain = { spellcheck: "false", autocapitalize: "off" };
  const input = make("input", { type: "text", maxlength: parameter.longest, ...plain });
  let timer = 0;
  let sent = null;
  const send = (settled) => {
    clearTimeout(timer);
    sent = input.value;
    changed(sent, settled);
  };
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => send(false), TYPING);
  });
  input.addEventListener("change", () => send(true));
  const set = (value) => {
    if (value !== sent) input.value = value; // else it is what is being typed
    sent = value;
  };
  return { parts: [input], inputs: [input], set };
}
