// Guides before the gallery, the glossary and the tables of names.
var Scorer = {
  score: function ([docname, title, anchor, descr, score, filename, kind]) {
    if (/^(gallery|reference|changelog|contributing|benchmarks)$/.test(docname)) return score - 8;
    if (/^(tutorials|physics)\//.test(docname)) return score + 2;
    return score;
  },
  objNameMatch: 14,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
