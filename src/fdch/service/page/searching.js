// A search: asked of the service, and its results, or why there are none, drawn.

import * as address from "/static/address.js";
import * as answers from "/static/answers.js";
import * as asking from "/static/asking.js";
import { find } from "/static/build.js";
import * as item from "/static/item.js";
import * as known from "/static/known.js";
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
  const key = address.withoutItem(asked) + (picture?.address ?? "");
  if (known.found?.key === key && !isWaiting) {
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
      trouble.showState("With a picture", states.lostPicture({ choose: asking.choose, clear: asking.clear }));
      return;
    }
    const reply = await search(asked, stopper.signal);
    const best = reply.results.length ? null : await bestOf(asked, stopper.signal);
    if (stopper.signal.aborted) return;
    show(key, reply, best);
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

function show(key, reply, best) {
  const isFirst = known.found === null;
  known.keepResults(key, reply);
  side.count(asking.asked, reply.facets);
  answers.show(asking.asked, known.index, reply, best, {
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
  sorting.draw(known.index, asking.asked.sort, asking.setSort);
  side.draw(known.index, asking.asked, isSliding, known.found?.reply.facets, { where: asking.setWhere, least: asking.setLeast });
}

function search(wanted, signal) {
  const options = { k: wanted.k, where: wanted.where, facets: true };
  if (wanted.sort) options.sort = wanted.sort;
  if (wanted.least > 0 && known.index.has_probability) options.min_probability = wanted.least;
  if (wanted.picture) return service.searchPicture(asking.picture.content, options, signal);
  if (wanted.like) return service.searchLike(wanted.like, options, signal);
  return service.searchText(wanted.text, options, signal);
}

// How probable the best result is when none is probable enough.
async function bestOf(wanted, signal) {
  if (!wanted.least) return null;
  const reply = await search({ ...wanted, least: 0, k: 1 }, signal);
  return reply.results[0]?.probability ?? null;
}
