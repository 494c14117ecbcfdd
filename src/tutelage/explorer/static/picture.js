// Turn the description of a panel into a figure of Plotly.

const DASHES = ["solid", "dash", "dot", "dashdot", "longdash", "longdashdot"];
const KINDS = { dashed: "dash", dotted: "dot" };
const GAPS = {
  solid: null,
  dash: "9 6",
  dot: "2.5 4",
  dashdot: "9 4 2.5 4",
  longdash: "15 6",
  longdashdot: "15 4 2.5 4",
};
const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "cross", "x", "star", "hexagon"];
const FAMILY_COLOURS = { R: 0, Q: 1, error: 2, S: 3, C: 4, v: 5 }; // equal in every view
const COLOUR_COUNT = 7;
const LETTER_PIXELS = 7; // of the text next to a mark
const MAX_LABEL_LETTERS = 30; // of the label of a y axis in one line
const ROW_PIXELS = 15;
const RIGHT_MARGIN_PIXELS = 24; // room for half of the last tick label
const CLOSE_MARKS_FRACTION = 1e-3; // of the width of a panel: closer marks share a line
const WIDE_PIXELS = 560; // approximate width of a panel
const NARROW_PIXELS = 290;
const HEIGHT_PIXELS = 250;
const LINE_PIXELS = 2.2;
const LINES = ["line", "dashed", "dotted"];

export async function plotly() {
  const script = document.getElementById("plotly");
  if (!window.Plotly) await new Promise((loaded) => script.addEventListener("load", loaded));
  return window.Plotly;
}

// Return the colours and the font of the style sheet at `element` (the page or the printed page).
export function themeOf(element) {
  const style = getComputedStyle(element);
  const value = (name) => style.getPropertyValue(name).trim();
  return {
    ink: value("--ink"),
    soft: value("--soft"),
    line: value("--line"),
    paper: value("--paper"),
    font: value("--font"),
    colours: Array.from({ length: COLOUR_COUNT }, (_, i) => value(`--colour-${i}`)),
  };
}

// scales: {x, y} chosen by the user; ranges: {x, y} in plain numbers or null; key: a panel stays
// enlarged while it does not change; off: names of hidden curves.
export function figure(panel, theme, options) {
  const { scales, ranges, narrow, key = "", legend = false, off = new Set() } = options;
  const colour = colours(panel, theme);
  const seen = panel.traces.filter((trace) => !off.has(trace.name));
  const traces = seen.flatMap((trace) => drawn(trace, colour(trace), panel));
  const named = traces.filter((trace) => trace.showlegend !== false && trace.type !== "heatmap");
  const [x, y] = ["x", "y"].map((name) => ({ ...panel[name], scale: scales[name] ?? panel[name].scale }));
  const lines = marks(panel, { x, y }, ranges.x ?? x.range, theme, narrow);
  const layout = {
    font: { family: theme.font, size: narrow ? 12 : 13, color: theme.ink },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    margin: { l: 62, r: RIGHT_MARGIN_PIXELS, t: 10 + ROW_PIXELS * lines.rows, b: 46 },
    xaxis: { ...axis("x", x, ranges.x, theme), ...steps(panel, "x", x, ranges.x) },
    yaxis: {
      ...axis("y", narrow ? { ...y, label: y.symbol || y.label } : y, ranges.y, theme),
      ...steps(panel, "y", y, ranges.y),
    },
    showlegend: legend && named.length > 1,
    legend: { orientation: "h", x: 0, y: -0.2, yanchor: "top", font: { size: 12 } },
    hovermode: "closest",
    hoverlabel: { font: { family: theme.font } },
    dragmode: narrow ? false : "zoom",
    uirevision: `${key} ${x.scale} ${y.scale}`,
    shapes: lines.shapes,
    annotations: lines.annotations,
  };
  return { data: traces, layout };
}

// Merge coinciding curves of a family into one with all their names: two dash patterns on top of
// each other would look like a third one. On other scales the curves may be separate again.
export function merged(panel, { scales, ranges }) {
  const axes = ["x", "y"].map((name) => {
    const scale = scales[name] ?? panel[name].scale;
    return { log: scale === "log", range: ranges[name] ?? panel[name].range ?? extent([panel], name, scale) };
  });
  if (axes.some(({ range }) => !range)) return panel;
  const groups = [];
  for (const trace of panel.traces) {
    const line = LINES.includes(trace.kind) ? pixels(trace, axes) : [];
    const same = (group) => sameFamily(group.traces[0], trace) && isOn(group.line, line) && isOn(line, group.line);
    const group = line.length ? groups.find(same) : null;
    if (group) group.traces.push(trace);
    else groups.push({ line, traces: [trace] });
  }
  const joined = ({ traces }) => ({ ...traces[0], name: traces.map((trace) => trace.name).join(", ") });
  return { ...panel, traces: groups.map((group) => (group.traces.length > 1 ? joined(group) : group.traces[0])) };
}

function sameFamily(one, two) {
  return one.family === two.family && one.kind === two.kind && !one.error && !two.error;
}

function pixels({ x, y }, [horizontal, vertical]) {
  const at = (v, { range, log }, size) => (v === null || (log && v <= 0) ? null : size * place(v, range, log));
  const points = x.map((v, i) => [at(v, horizontal, WIDE_PIXELS), at(y[i], vertical, HEIGHT_PIXELS)]);
  return points.filter(([a, b]) => a !== null && b !== null);
}

// Whether the points of one line, at most a hundred of them, are on another line.
function isOn(line, other) {
  const step = Math.max(1, Math.floor(line.length / 100));
  const some = line.filter((_, i) => i % step === 0 || i === line.length - 1).reverse();
  return other.length > 0 && some.every((point) => other.some((end, i) => distance(point, other[i - 1] ?? end, end) <= LINE_PIXELS));
}

function distance([x, y], [a, b], [c, d]) {
  const [dx, dy] = [c - a, d - b];
  const long = dx * dx + dy * dy;
  const part = long ? Math.min(Math.max(((x - a) * dx + (y - b) * dy) / long, 0), 1) : 0;
  return Math.hypot(x - a - part * dx, y - b - part * dy);
}

// Return the range of an axis over all panels of one name, so that compared panels have equal axes.
export function extent(panels, name, scale) {
  const values = panels.flatMap((panel) => [
    ...(panel[name].range ?? []),
    ...panel.traces.flatMap((trace) => reach(trace, name)),
  ]);
  const good = values.filter((v) => v !== null && (scale !== "log" || v > 0));
  if (!good.length) return null;
  const [low, high] = good.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [good[0], good[0]]);
  if (scale === "log") return [low / (high / low) ** 0.03, high * (high / low) ** 0.03];
  const traces = panels.flatMap((panel) => panel.traces);
  const lines = traces.every((trace) => trace.kind !== "points" || trace.x.length < 2);
  const margin = (name === "y" ? 0.05 : lines ? 0 : 0.03) * (high - low) || (high === low ? 1 : 0);
  return [low - margin, high + margin];
}

function reach(trace, name) {
  if (name === "x" || !trace.error) return trace[name];
  const ends = (v, error) => (v === null ? [] : [v - error, v + error]);
  return trace.y.flatMap((v, i) => ends(v, trace.error[i] ?? 0));
}

// Known families have fixed colours; the others take the remaining colours in order. If a family has
// more members than dash patterns, the patterns repeat in another shade.
function colours(panel, theme) {
  const { traces } = panel;
  const place = new Map(Object.entries(FAMILY_COLOURS));
  const taken = new Set(traces.map((t) => FAMILY_COLOURS[t.family]).filter((i) => i !== undefined));
  const free = theme.colours.map((_, i) => i).filter((i) => !taken.has(i));
  for (const { family } of traces) {
    if (!place.has(family)) place.set(family, free.shift() ?? 0);
  }
  return (trace) => {
    const kinds = trace.kind === "points" ? SYMBOLS : dashes(panel);
    const round = Math.floor((trace.member ?? 0) / kinds.length);
    return shade(theme.colours[place.get(trace.family)], round, theme);
  };
}

function shade(colour, round, theme) {
  if (round % 3 === 0) return colour;
  const [other, part] = round % 3 === 1 ? [theme.ink, 0.5] : [theme.paper, 0.35];
  const parts = (hex) => [1, 3, 5].map((i) => parseInt(full(hex).slice(i, i + 2), 16));
  const mixed = parts(colour).map((v, i) => Math.round(v + part * (parts(other)[i] - v)));
  return `rgb(${mixed.join(",")})`;
}

// Expand #fff to #ffffff.
function full(hex) {
  return hex.length === 4 ? hex.replace(/[0-9a-f]/gi, "$&$&") : hex;
}

function drawn(trace, colour, panel) {
  if (trace.kind === "heat") return [heat(trace, panel)];
  const common = { type: "scatter", name: escaped(trace.name), x: trace.x, y: trace.y, connectgaps: false };
  const label = { hovertemplate: `%{x:.6g}, %{y:.6g}<extra>${escaped(trace.name)}</extra>` };
  const member = trace.member ?? 0;
  if (trace.kind === "points") {
    const marker = { color: colour, size: 8, symbol: SYMBOLS[member % SYMBOLS.length] };
    const bars = { type: "data", array: trace.error, color: colour, thickness: 1.5 };
    const error_y = trace.error ? bars : undefined;
    return [{ ...common, ...label, mode: "markers", marker, error_y }];
  }
  if (trace.kind === "faint") {
    const line = { color: colour, width: 1, simplify: false };
    return [{ ...common, ...label, mode: "lines", line, opacity: 0.4, showlegend: false }];
  }
  // Plotly would leave out points that hardly bend a line, and the corners that remain can be seen.
  const line = { color: colour, width: LINE_PIXELS, dash: dashOf(trace, panel), simplify: false };
  const mode = scattered(trace.y) ? "markers" : "lines";
  const marker = { color: colour, size: 6 };
  return [...band(trace, colour), { ...common, ...label, mode, line, marker }];
}

// Whether each point has a gap on both sides, so that a line would be invisible.
function scattered(values) {
  return values.every((v, i) => v === null || (values[i - 1] ?? null) === null);
}

// Dashes or dots with a meaning (unstable) are not used to distinguish curves of a family.
function dashes(panel) {
  const saying = new Set(panel.traces.map((trace) => KINDS[trace.kind]));
  return DASHES.filter((dash) => !saying.has(dash));
}

function dashOf({ kind, member }, panel) {
  const left = dashes(panel);
  return KINDS[kind] ?? left[(member ?? 0) % left.length];
}

// Return the legend entries: {name, colour, gaps} or {name, colour, points}.
export function entries(panel, theme) {
  const colour = colours(panel, theme);
  const named = panel.traces.filter((trace) => trace.kind !== "faint" && trace.kind !== "heat");
  if (named.length < 2) return [];
  return named.map((trace) => ({
    name: trace.name,
    colour: colour(trace),
    points: trace.kind === "points" ? SYMBOLS[(trace.member ?? 0) % SYMBOLS.length] : null,
    gaps: GAPS[dashOf(trace, panel)],
  }));
}

// Draw the error of a line as a band behind it.
function band(trace, colour) {
  if (!trace.error) return [];
  const edge = (sign) => trace.y.map((v, i) => (v === null ? null : v + sign * (trace.error[i] ?? 0)));
  const silent = { hoverinfo: "skip", showlegend: false };
  const common = { type: "scatter", x: trace.x, mode: "lines", line: { width: 0 }, ...silent };
  return [
    { ...common, y: edge(-1) },
    { ...common, y: edge(1), fill: "tonexty", fillcolor: colour, opacity: 0.2 },
  ];
}

function heat(trace, panel) {
  const [low, high] = panel.z ?? bounds(trace.z.flat());
  const signed = low < 0;
  const far = Math.max(-low, high);
  return {
    type: "heatmap",
    name: trace.name,
    x: trace.x,
    y: trace.y,
    z: trace.z,
    zmin: signed ? -far : low,
    zmax: signed ? far : high,
    colorscale: signed ? "RdBu" : "Cividis",
    colorbar: { title: { text: escaped(trace.name) }, thickness: 12, outlinewidth: 0 },
    hovertemplate: "%{x}, %{y}: %{z:.4g}<extra></extra>",
  };
}

export function bounds(values) {
  return values.reduce(([a, b], v) => (v === null ? [a, b] : [Math.min(a, v), Math.max(b, v)]), [0, 0]);
}

function axis(name, { label, scale, range }, shared, theme) {
  const log = scale === "log";
  const wanted = shared ?? range;
  const usable = wanted && (!log || wanted[0] > 0);
  return {
    title: { text: name === "y" ? inTwoLines(label) : escaped(label), standoff: 8 },
    type: log ? "log" : "linear",
    exponentformat: "power",
    gridcolor: theme.line,
    zerolinecolor: theme.line,
    linecolor: theme.soft,
    ticks: "outside",
    tickcolor: theme.soft,
    ticklen: 4,
    showline: true,
    automargin: name === "y",
    autorange: !usable,
    range: usable ? wanted.map((v) => (log ? Math.log10(v) : v)) : undefined,
  };
}

// Over one to three decades Plotly labels all digits from 2 to 9, which overlap: label 2 and 5 only.
function steps(panel, name, { scale, range }, shared) {
  if (scale !== "log") return {};
  const [low, high] = shared ?? range ?? extent([panel], name, scale) ?? [1, 1];
  const decades = Math.log10(high / low);
  return decades > 1 && decades < 3 ? { dtick: "D2" } : {};
}

// Break a long axis label into two lines.
function inTwoLines(label) {
  const words = label.split(" ");
  if (label.length <= MAX_LABEL_LETTERS) return escaped(label);
  const half = words.findIndex((_, i) => words.slice(0, i + 1).join(" ").length >= label.length / 2);
  return `${escaped(words.slice(0, half).join(" "))}<br>${escaped(words.slice(half).join(" "))}`;
}

// Draw marks as lines across the panel with a text above it or at its right. On logarithmic axes
// Plotly expects plain numbers for lines and logarithms for texts.
function marks(panel, axes, range, theme, narrow) {
  const shapes = [];
  const annotations = [];
  const ends = []; // where the words of each row above the panel end, as a part of its width
  const width = narrow ? NARROW_PIXELS : WIDE_PIXELS;
  for (const { axis: along, at, label } of groupClose(panel.marks ?? [], range)) {
    const across = along === "x" ? "y" : "x";
    const log = axes[along].scale === "log";
    if (log && at <= 0) continue;
    const refs = { [`${along}ref`]: along, [`${across}ref`]: "paper" };
    const points = { [`${along}0`]: at, [`${along}1`]: at, [`${across}0`]: 0, [`${across}1`]: 1 };
    const line = { color: theme.soft, width: 1, dash: "dot" };
    shapes.push({ type: "line", ...refs, ...points, layer: "below", line });
    const part = along === "x" && range ? place(at, range, log) : 1;
    const long = (LETTER_PIXELS * label.length) / width;
    const left = Math.min(Math.max(part, 0), 1 - long);
    const row = along === "x" ? rowOf(ends, left, long) : 0;
    annotations.push({
      ...refs,
      [along]: log ? Math.log10(at) : at,
      [across]: 1,
      yshift: ROW_PIXELS * row,
      text: escaped(label),
      showarrow: false,
      xanchor: along === "x" && part + long <= 1 ? "left" : "right",
      yanchor: "bottom",
      font: { size: 12, color: theme.soft },
    });
  }
  return { shapes, annotations, rows: ends.length };
}

// Sort marks from left to right; close marks share a line and a text.
function groupClose(all, range) {
  const close = range ? CLOSE_MARKS_FRACTION * Math.abs(range[1] - range[0]) : 0;
  const found = [];
  for (const mark of [...all].sort((one, two) => one.at - two.at)) {
    const near = (other) => other.axis === "x" && mark.at - other.at <= close;
    const same = mark.axis === "x" && found.find(near);
    if (same) same.label += `, ${mark.label}`;
    else found.push({ ...mark });
  }
  return found;
}

function place(at, [low, high], log) {
  const of = log ? Math.log10 : (v) => v;
  return (of(at) - of(low)) / (of(high) - of(low));
}

// Return the first row of texts that is free from this position on.
function rowOf(ends, left, long) {
  const free = ends.findIndex((end) => end <= left);
  const row = free < 0 ? ends.length : free;
  ends[row] = left + long;
  return row;
}

// Escape texts, in which Plotly interprets some HTML; write ε_g with a subscript.
function escaped(text) {
  const plain = String(text ?? "").replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  return plain.replace(/(?<!\p{L}{2})_(\p{L}{1,2}|\d+)(?![\p{L}\d])/gu, "<sub>$1</sub>");
}
