// Figures of the papers; each opens in the view that computes it.
import { defaults } from "./parameters.js";
import { written } from "./address.js";
import { make } from "./words.js";

export function gallery({ figures, message }, views) {
  const said = message ? [make("p", { class: "message" }, message)] : [];
  const papers = [...new Set(figures.map((figure) => figure.paper))];
  const sections = papers.map((paper) => {
    const cards = figures.filter((figure) => figure.paper === paper).map((figure) => card(figure, views));
    return make("section", { "aria-label": paper }, make("h2", {}, paper), make("div", { class: "cards" }, ...cards));
  });
  return [...said, ...sections];
}

function card({ title, caption, picture, opens }, views) {
  const view = opens && views.find((v) => v.name === opens.view);
  const image = picture ? make("img", { src: picture, alt: title, loading: "lazy" }) : null;
  const link = view ? make("a", { class: "button", href: address(view, opens.state) }, `Open in ${view.title}`, make("span", { class: "hidden" }, `: ${title}`)) : null;
  const words = caption ? make("details", {}, make("summary", {}, "What it shows"), make("p", {}, caption)) : null;
  return make("article", { class: "card" }, make("h3", {}, title), image, words, link);
}

function address(view, state) {
  return written({ view: view.name, settings: { a: { ...defaults(view), ...state } }, axes: {}, frame: 0 }, view);
}
