// Figures of the papers, each with a link to the view that computes it.
import { defaults } from "./parameters.js";
import { written } from "./address.js";
import { coded, make } from "./words.js";

export function gallery({ figures, message }, views) {
  const said = message ? [make("p", { class: "message" }, ...coded(message))] : [];
  const papers = [...new Set(figures.map((figure) => figure.paper))];
  const sections = papers.map((paper) => {
    const cards = figures.filter((figure) => figure.paper === paper).map((figure) => card(figure, views));
    const below = make("div", { class: "cards" }, ...cards);
    return make("section", { "aria-label": paper }, make("h2", {}, paper), below);
  });
  return [...said, ...sections];
}

function card({ title, caption, picture, opens }, views) {
  const view = opens && views.find((v) => v.name === opens.view);
  const image = picture ? make("img", { src: picture, alt: title, loading: "lazy" }) : null;
  const summary = make("summary", {}, "What it shows");
  const words = caption ? make("details", {}, summary, make("p", {}, caption)) : null;
  const link = view ? opening(view, opens.state, title) : null;
  return make("article", { class: "card" }, make("h3", {}, title), image, words, link);
}

function opening(view, state, title) {
  const a = { ...defaults(view), ...state };
  const href = written({ view: view.name, settings: { a }, axes: {}, frame: 0 }, view);
  const which = make("span", { class: "hidden" }, `: ${title}`);
  return make("a", { class: "button", href }, `Open in ${view.title}`, which);
}
