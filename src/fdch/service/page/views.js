// The views without a search: where one begins, and the index.

import * as address from "/static/address.js";
import * as answers from "/static/answers.js";
import { find } from "/static/build.js";
import * as details from "/static/details.js";
import * as errors from "/static/errors.js";
import * as loaded from "/static/loaded.js";
import * as indexView from "/static/overview.js";
import * as query from "/static/query.js";
import * as scrolling from "/static/scrolling.js";
import * as states from "/static/states.js";

const EXAMPLES = 6;

export async function drawStart() {
  const view = find("start-view");
  let shown = view.firstElementChild; // a problem may be shown there meanwhile
  loaded.forgetResults();
  details.shut();
  try {
    await loaded.learnIndex();
    if (address.hasQuery(query.params) || query.params.view !== "search") return;
    if (view.firstElementChild !== shown) return;
    view.replaceChildren(...start());
    shown = view.firstElementChild;
    scrolling.restore();
    if (loaded.overview || loaded.index.items === 0) return;
    await loaded.learnOverview().catch(() => null); // a page without examples is fine
    if (view.hidden || !loaded.overview || view.firstElementChild !== shown) return;
    view.replaceChildren(...start());
  } catch (problem) {
    errors.showAtStart(problem);
  }
}

export async function drawIndex() {
  const view = find("index-view");
  details.shut();
  if (!loaded.overview) view.replaceChildren(...indexView.waiting());
  loaded.forgetIndex(); // it may have grown since
  try {
    await Promise.all([loaded.learnIndex(), loaded.learnOverview()]);
    if (query.params.view !== "index") return;
    view.replaceChildren(...indexView.content(loaded.index, loaded.overview, { ...query, added }));
    scrolling.restore();
    answers.say("The index is shown.");
  } catch (problem) {
    errors.showInIndex(problem);
  }
}

// The index has grown; gives by how much.
async function added() {
  loaded.forgetResults();
  loaded.forgetIndex();
  await loaded.learnIndex();
  return loaded.index.items;
}

function start() {
  return states.start(loaded.index, loaded.overview?.groups.slice(0, EXAMPLES) ?? [], query);
}
