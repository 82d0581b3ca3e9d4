// The views without a search: where one begins, and the index.

import * as address from "/static/address.js";
import * as answers from "/static/answers.js";
import * as asking from "/static/asking.js";
import { find } from "/static/build.js";
import * as details from "/static/details.js";
import * as known from "/static/known.js";
import * as indexView from "/static/overview.js";
import * as place from "/static/place.js";
import * as states from "/static/states.js";
import * as trouble from "/static/trouble.js";

const EXAMPLES = 6;

export async function drawStart() {
  const view = find("start-view");
  let shown = view.firstElementChild; // a problem may be shown there meanwhile
  known.forgetResults();
  details.shut();
  try {
    await known.learnIndex();
    if (address.hasQuery(asking.asked) || asking.asked.view !== "search") return;
    if (view.firstElementChild !== shown) return;
    view.replaceChildren(...start());
    shown = view.firstElementChild;
    place.restore();
    if (known.overview || known.index.items === 0) return;
    await known.learnOverview().catch(() => null); // a page without examples is fine
    if (view.hidden || !known.overview || view.firstElementChild !== shown) return;
    view.replaceChildren(...start());
  } catch (problem) {
    trouble.showAtStart(problem);
  }
}

export async function drawIndex() {
  const view = find("index-view");
  details.shut();
  if (!known.overview) view.replaceChildren(...indexView.waiting());
  known.forgetIndex(); // it may have grown since
  try {
    await Promise.all([known.learnIndex(), known.learnOverview()]);
    if (asking.asked.view !== "index") return;
    view.replaceChildren(...indexView.content(known.index, known.overview, { ...asking, added }));
    place.restore();
    answers.say("The index is shown.");
  } catch (problem) {
    trouble.showInIndex(problem);
  }
}

// The index has grown; gives by how much.
async function added() {
  known.forgetResults();
  known.forgetIndex();
  await known.learnIndex();
  return known.index.items;
}

function start() {
  return states.start(known.index, known.overview?.groups.slice(0, EXAMPLES) ?? [], asking);
}
