// The panel beside the results: the slider, the chips, and which are in use.

import { areSeveral } from "/static/address.js";
import { find } from "/static/build.js";
import * as filters from "/static/filters.js";

const SLIDE_MS = 180;
let timer = 0;

// actions: where(conditions), least(share); isSliding: the slider stays as it is;
// facets: of the results on show
export function draw(index, asked, isSliding, facets, actions) {
  find("side").hidden = false;
  if (!isSliding || !find("least")) {
    const restore = focusInside();
    find("filters").replaceChildren(...content(index, asked, facets, actions));
    count(asked, facets);
    restore();
  }
  const used = asked.where.length + (asked.least > 0 && !areSeveral(asked) ? 1 : 0);
  find("side-count").textContent = used ? `${used} in use` : "";
  const active = find("active");
  active.hidden = !asked.where.length;
  active.replaceChildren(...filters.activeChips(asked.where, actions.where));
}

// In place, so that nothing that is being typed is lost.
export function count(asked, facets) {
  if (!asked.where.length) return; // the index has said it all
  for (const chip of find("filters").querySelectorAll(".chip")) filters.recount(chip, facets);
}

function content(index, asked, facets, actions) {
  const change = (where) => (where === asked.where ? draw(index, asked, false, facets, actions) : actions.where(where));
  const slide = (least) => {
    clearTimeout(timer);
    timer = setTimeout(() => actions.least(least), SLIDE_MS);
  };
  const slider = index.has_probability && !areSeveral(asked) ? [filters.slider(asked.least, slide)] : [];
  return [...slider, ...filters.panel(index, asked.where, change)];
}

// Chips are rebuilt; the focus stays on the one that has the same meaning.
function focusInside() {
  const focused = document.activeElement;
  if (!find("filters").contains(focused)) return () => {};
  const { column, value, fold } = focused.dataset;
  const wanted = fold ? `[data-fold="${CSS.escape(fold)}"]`
    : `[data-column="${CSS.escape(column ?? "")}"][data-value="${CSS.escape(value ?? "")}"]`;
  return () => find("filters").querySelector(wanted)?.focus();
}
