// Save or copy code, data and pictures.
import { figure, merged, plotly, themeOf } from "./picture.js";
import { find, make } from "./words.js";

const WIDTH = 720;
const HEIGHT = 420;
const TITLE = 28; // pixels above a panel
const SHARP = 2; // pixels of a PNG for one of the SVG

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false; // no permission, or a page that did not come safely: the code is on the page as well
  }
}

// Return all panels below each other in one SVG, in the colours for paper.
export async function svg(panels, options) {
  const Plotly = await plotly();
  const theme = themeOf(find("paper"));
  const parts = await Promise.all(panels.map((panel) => drawn(Plotly, panel, theme, options(panel))));
  const inside = parts.map((part, i) => {
    const top = i * (HEIGHT + TITLE);
    const letters = `font-family="sans-serif" font-size="16" fill="${theme.ink}"`;
    const title = `<text x="16" y="${top + 20}" ${letters}>${safe(panels[i].title)}</text>`;
    return `${title}<svg y="${top + TITLE}" width="${WIDTH}" height="${HEIGHT}">${part}</svg>`;
  });
  const height = panels.length * (HEIGHT + TITLE);
  const size = `width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}"`;
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" ${size}>` +
    `<rect width="100%" height="100%" fill="${theme.paper}"/>${inside.join("")}</svg>`
  );
}

export async function png(drawing) {
  const picture = new Image();
  picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(drawing)}`;
  await picture.decode();
  const canvas = make("canvas", { width: SHARP * picture.width, height: SHARP * picture.height });
  canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

// Return the curves of a picture as a table, for exported pages.
export function csv(panels) {
  const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const points = (panel, { name, x, y }) =>
    x.map((at, i) => [quoted(panel), quoted(name), at ?? "", y[i] ?? ""]);
  const rows = panels.flatMap(({ name, traces }) =>
    traces.filter((trace) => trace.kind !== "heat").flatMap((trace) => points(name, trace)),
  );
  return [["panel", "curve", "x", "y"], ...rows].map((row) => row.join(",")).join("\n") + "\n";
}

export function save(content, name, type) {
  const blob = content instanceof Blob ? content : new Blob([content], { type });
  const address = URL.createObjectURL(blob);
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

async function drawn(Plotly, panel, theme, options) {
  const size = { format: "svg", width: WIDTH, height: HEIGHT };
  const address = await Plotly.toImage(figure(merged(panel, options), theme, options), size);
  return decodeURIComponent(address.slice(address.indexOf(",") + 1));
}

function safe(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
