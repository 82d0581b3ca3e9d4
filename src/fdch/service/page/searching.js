// A search: sent to the service; its results, or why there are none, are drawn.

import * as address from "/static/address.js";
import * as answers from "/static/answers.js";
import { find } from "/static/build.js";
import * as columns from "/static/columns.js";
import * as errors from "/static/errors.js";
import * as feedback from "/static/feedback.js";
import * as item from "/static/item.js";
import * as loaded from "/static/loaded.js";
import * as query from "/static/query.js";
import * as scrolling from "/static/scrolling.js";
import * as service from "/static/service.js";
import * as side from "/static/side.js";
import * as sorting from "/static/sorting.js";
import * as states from "/static/states.js";

const SAME = 16; // one bit of so many may differ between near-duplicates
const PATIENT_MS = 120; // quicker answers come without a sign of waiting
let running = null; // what stops the search under way
let isWaiting = false; // the results on show are about to be replaced

export function stop() {
  running?.abort();
}

export async function draw() {
  const { params, picture, lastChange } = query;
  const key = address.queryOf(params) + (picture?.address ?? "");
  const before = loaded.found?.key === key && !isWaiting ? loaded.found : null;
  if (before?.k === params.k) {
    drawSide(false);
    side.count(loaded.index, before.reply.facets);
    scrolling.restore();
    item.draw();
    return;
  }
  const stopper = new AbortController();
  running = stopper;
  find("grid").setAttribute("aria-busy", "true");
  const timer = setTimeout(() => { isWaiting = true; answers.wait(params); }, PATIENT_MS);
  try {
    await loaded.learnIndex();
    if (stopper.signal.aborted) return;
    drawSide(lastChange === "least");
    if (params.picture && !picture) {
      loaded.forgetResults();
      errors.showState("With a picture", states.lostPicture({ choose: query.choose, clear: query.clear, drop: params.text && query.dropPicture }));
      return;
    }
    const reply = before?.k < params.k
      ? await searchOn(before, params, stopper.signal)
      : await search(params, stopper.signal);
    const best = reply.results.length ? null : await bestOf(params, stopper.signal);
    if (stopper.signal.aborted) return;
    show(key, reply, best, before?.k < params.k ? before.reply.results.length : 0);
  } catch (problem) {
    if (problem.name !== "AbortError") errors.show(problem);
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
  const isFirst = loaded.found === null;
  loaded.keepResults(key, query.params.k, reply);
  side.count(loaded.index, reply.facets);
  answers.show(query.params, loaded.index, reply, best, from, {
    mark: feedback.mark, markOf: feedback.markOf,
    like: query.like, similar: query.likeUngrouped, clear: query.clear, label: query.addLabel, least: query.setLeast, where: query.setWhere, onlyWords: query.setOnlyWords,
    open: (id) => query.go({ item: id }, { because: "open" }),
    more: () => { answers.focusWhenThere(reply.results.length); query.showMore(); },
  });
  scrolling.restore();
  // what had the focus may be gone with the results it belonged to
  if (!isFirst && document.activeElement === document.body) find("heading").focus({ preventScroll: true });
  item.draw();
}

function drawSide(isSliding) {
  feedback.draw();
  columns.draw(loaded.index, drawCells);
  sorting.draw(loaded.index, query.params, { sort: query.setSort, group: query.setGrouped });
  side.draw(loaded.index, query.params, isSliding, loaded.found?.reply.facets, {
    where: query.setWhere, least: query.setLeast, onlyWords: query.setOnlyWords,
  });
}

function drawCells() {
  const found = new Map(loaded.found?.reply.results.map((result) => [result.id, result]));
  for (const card of find("grid").children) {
    const result = found.get(card.dataset.id);
    if (result) card.querySelector(".cells").replaceWith(columns.cells(result));
  }
}

function search(wanted, signal) {
  const options = { ...address.partsOf(wanted), k: wanted.k, where: wanted.where, facets: true };
  if (wanted.offset) Object.assign(options, { offset: wanted.offset, facets: false });
  if (wanted.onlyWords && address.canMatch(wanted, loaded.index)) options.match = "words";
  if (wanted.grouped) options.group = Math.max(1, Math.round(loaded.index.bits / SAME));
  if (wanted.sort) options.sort = wanted.sort;
  if (wanted.least > 0 && loaded.index.has_probability && !address.areSeveral(wanted)) options.min_probability = wanted.least;
  if (wanted.picture) return service.searchPicture(query.picture.content, options, signal);
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
  if (!wanted.least || address.areSeveral(wanted)) return null;
  const reply = await search({ ...wanted, least: 0, k: 1 }, signal);
  return reply.results[0]?.probability ?? null;
}
