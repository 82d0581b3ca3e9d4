// A search: asked of the service, and its results, or why there are none, drawn.

import * as address from "/static/address.js";
import * as answers from "/static/answers.js";
import * as asking from "/static/asking.js";
import { find } from "/static/build.js";
import * as columns from "/static/columns.js";
import * as item from "/static/item.js";
import * as known from "/static/known.js";
import * as marking from "/static/marking.js";
import { areSeveral, partsOf } from "/static/parts.js";
import * as place from "/static/place.js";
import * as service from "/static/service.js";
import * as side from "/static/side.js";
import * as sorting from "/static/sorting.js";
import * as states from "/static/states.js";
import * as trouble from "/static/trouble.js";

const PATIENT_MS = 120; // quicker answers come without a sign of waiting
let running = null; // what stops the search under way
let isWaiting = false; // the results on show are about to be replaced

export function stop() {
  running?.abort();
}

export async function draw() {
  const { asked, picture, lastChange } = asking;
  const key = address.queryOf(asked) + (picture?.address ?? "");
  const before = known.found?.key === key && !isWaiting ? known.found : null;
  if (before?.k === asked.k) {
    drawSide(false);
    place.restore();
    item.draw();
    return;
  }
  const stopper = new AbortController();
  running = stopper;
  find("grid").setAttribute("aria-busy", "true");
  const timer = setTimeout(() => { isWaiting = true; answers.wait(asked); }, PATIENT_MS);
  try {
    await known.learnIndex();
    if (stopper.signal.aborted) return;
    drawSide(lastChange === "least");
    if (asked.picture && !picture) {
      known.forgetResults();
      trouble.showState("With a picture", states.lostPicture({ choose: asking.choose, clear: asking.clear, drop: asked.text && asking.dropPicture }));
      return;
    }
    const reply = before?.k < asked.k
      ? await searchOn(before, asked, stopper.signal)
      : await search(asked, stopper.signal);
    const best = reply.results.length ? null : await bestOf(asked, stopper.signal);
    if (stopper.signal.aborted) return;
    show(key, reply, best, before?.k < asked.k ? before.reply.results.length : 0);
  } catch (problem) {
    if (problem.name !== "AbortError") trouble.show(problem);
  } finally {
    clearTimeout(timer);
    if (!stopper.signal.aborted) {
      isWaiting = false;
      find("grid").removeAttribute("aria-busy");
    }
  }
}

// from: how many of the results are on show already
function show(key, reply, best, from) {
  const isFirst = known.found === null;
  known.keepResults(key, asking.asked.k, reply);
  side.count(asking.asked, reply.facets);
  answers.show(asking.asked, known.index, reply, best, from, {
    mark: marking.mark, markOf: marking.markOf,
    like: asking.like, clear: asking.clear, label: asking.addLabel, least: asking.setLeast, where: asking.setWhere,
    open: (id) => asking.go({ item: id }, { because: "open" }),
    more: () => { answers.focusWhenThere(reply.results.length); asking.showMore(); },
  });
  place.restore();
  // what had the focus may be gone with the results it belonged to
  if (!isFirst && document.activeElement === document.body) find("heading").focus({ preventScroll: true });
  item.draw();
}

function drawSide(isSliding) {
  marking.draw();
  columns.draw(known.index, drawCells);
  sorting.draw(known.index, asking.asked.sort, asking.setSort);
  side.draw(known.index, asking.asked, isSliding, known.found?.reply.facets, { where: asking.setWhere, least: asking.setLeast });
}

function drawCells() {
  const found = new Map(known.found?.reply.results.map((result) => [result.id, result]));
  for (const card of find("grid").children) {
    const result = found.get(card.dataset.id);
    if (result) card.querySelector(".cells").replaceWith(columns.cells(result));
  }
}

function search(wanted, signal) {
  const options = { ...partsOf(wanted), k: wanted.k, where: wanted.where, facets: true };
  if (wanted.offset) Object.assign(options, { offset: wanted.offset, facets: false });
  if (wanted.sort) options.sort = wanted.sort;
  if (wanted.least > 0 && known.index.has_probability && !areSeveral(wanted)) options.min_probability = wanted.least;
  if (wanted.picture) return service.searchPicture(asking.picture.content, options, signal);
  return service.search(options, signal);
}

// The results that follow those on show.
async function searchOn({ k, reply }, wanted, signal) {
  const next = await search({ ...wanted, k: wanted.k - k, offset: k }, signal);
  const shown = new Set(reply.results.map(({ id }) => id)); // the index may have changed meanwhile
  const results = [...reply.results, ...next.results.filter(({ id }) => !shown.has(id))];
  return { ...next, facets: reply.facets, results };
}

// How probable the best result is when none is probable enough.
async function bestOf(wanted, signal) {
  if (!wanted.least || areSeveral(wanted)) return null;
  const reply = await search({ ...wanted, least: 0, k: 1 }, signal);
  return reply.results[0]?.probability ?? null;
}
