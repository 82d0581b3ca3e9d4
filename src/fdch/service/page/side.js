// The panel beside the results: the slider, the chips, and which are in use.

import { areSeveral, canMatch } from "/static/address.js";
import { find } from "/static/build.js";
import * as filters from "/static/filters.js";

const SLIDE_MS = 180;
let timer = 0;

// actions: where(conditions), least(share), onlyWords(isSo); isSliding: the slider stays as it is;
// facets: of the results on show
export function draw(index, params, isSliding, facets, actions) {
  find("side").hidden = false;
  if (!isSliding || !find("least")) {
    const restore = focusInside();
    find("filters").replaceChildren(...content(index, params, facets, actions));
    if (params.where.length || params.onlyWords) count(index, facets);
    restore();
  }
  const isSure = params.least > 0 && !areSeveral(params);
  const used = params.where.length + isSure + (params.onlyWords && canMatch(params, index));
  find("side-count").textContent = used ? `${used} in use` : "";
  const active = find("active");
  active.hidden = !params.where.length;
  active.replaceChildren(...filters.activeChips(params.where, actions.where));
}

// In place, so that nothing that is being typed is lost.
export function count(index, facets) {
  if (!facets || facets.items === index.items) return; // the index has said it all
  for (const chip of find("filters").querySelectorAll(".chip")) filters.recount(chip, facets);
}

function content(index, params, facets, actions) {
  const change = (where) => (where === params.where ? draw(index, params, false, facets, actions) : actions.where(where));
  const slide = (least) => {
    clearTimeout(timer);
    timer = setTimeout(() => actions.least(least), SLIDE_MS);
  };
  const slider = index.has_probability && !areSeveral(params) ? [filters.slider(params.least, slide)] : [];
  const words = canMatch(params, index) ? [filters.wordsBox(params.onlyWords, actions.onlyWords)] : [];
  return [...slider, ...words, ...filters.panel(index, params.where, change)];
}

// Chips are rebuilt; the focus stays on the one that has the same meaning.
function focusInside() {
  const focused = document.activeElement;
  if (!find("filters").contains(focused)) return () => {};
  const { column, value, fold } = focused.dataset;
  const wanted = focused.id ? `#${focused.id}` : fold ? `[data-fold="${CSS.escape(fold)}"]`
    : `[data-column="${CSS.escape(column ?? "")}"][data-value="${CSS.escape(value ?? "")}"]`;
  return () => find("filters").querySelector(wanted)?.focus();
}
