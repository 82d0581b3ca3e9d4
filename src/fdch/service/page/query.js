// The current query, kept in the page's address. Any change redraws the page.

import * as address from "/static/address.js";
import { find } from "/static/build.js";
import * as conditions from "/static/conditions.js";
import * as loaded from "/static/loaded.js";
import * as pictures from "/static/picture.js";
import * as scrolling from "/static/scrolling.js";

export let params = address.empty();
export let picture = null; // the picture searched with, and its address for showing it
export let lastChange = "";
const UNMARKED = { like: [], unlike: [] }; // another query has no marks yet
let draw = () => {};

// given() draws the page.
export function listen(given) {
  draw = given;
  scrolling.listen();
  window.addEventListener("popstate", () => { read(); draw(); });
}

export function read() {
  params = address.read(location.search);
  const kept = history.state?.picture;
  picture = params.picture && kept ? { content: pictures.fromAddress(kept), address: kept } : null;
  lastChange = "";
}

export function again() {
  draw();
}

export function go(changes, { replace = false, because = "" } = {}) {
  scrolling.keep();
  const before = params;
  params = { ...params, ...changes };
  if (!params.picture) picture = null;
  const written = address.write(params);
  const isSame = written === location.pathname + location.search && !params.picture;
  const isNew = !replace && !isSame;
  const isOther = isNew
    && (before.view !== params.view || address.withoutItem(before) !== address.withoutItem(params));
  const kept = {
    picture: picture?.address ?? null,
    // whether an item on show was opened here, so that going back closes it
    opened: params.item !== "" && (because === "open" || (!isNew && Boolean(history.state?.opened))),
    top: isOther ? 0 : Math.round(window.scrollY),
  };
  if (isOther) scrolling.wantTop();
  const way = isNew ? "pushState" : "replaceState";
  try {
    history[way](kept, "", written);
  } catch { // the picture is too large for the browser's history
    history[way]({ ...kept, picture: null }, "", written);
  }
  lastChange = because;
  draw();
}

export function submit(text) {
  const trimmed = text.trim();
  if (!trimmed && !params.picture) {
    clear();
    return;
  }
  go({ view: "search", text: trimmed, ...UNMARKED, item: "", k: address.PAGE });
}

export function like(id) {
  go(likeOne(id));
}

// Near-duplicates that stood under one result are shown one by one.
export function likeUngrouped(id) {
  go({ ...likeOne(id), grouped: false });
}

export function likeAddress(id) {
  return address.write({ ...params, ...likeOne(id) });
}

function likeOne(id) {
  return { view: "search", text: "", like: [id], unlike: [], picture: false, item: "", k: address.PAGE };
}

export function setWhere(where) {
  go({ ...typed(), where, item: "", k: address.PAGE });
}

export function addLabel(label) {
  const has = conditions.has(params.where, conditions.LABEL, label);
  go({ ...typed(), item: "", k: address.PAGE, where: has ? params.where : conditions.toggle(params.where, conditions.LABEL, label) });
}

export function setLeast(least) {
  go({ ...typed(), least, k: address.PAGE }, { replace: lastChange === "least", because: "least" });
}

export function setOnlyWords(onlyWords) {
  go({ ...typed(), onlyWords, item: "", k: address.PAGE });
}

export function refine(liked, unliked) {
  go({ ...typed(), like: liked, unlike: unliked, item: "", k: address.PAGE });
}

export function setSort(sort) {
  go({ ...typed(), sort, item: "", k: address.PAGE });
}

export function setGrouped(grouped) {
  go({ ...typed(), grouped, item: "", k: address.PAGE });
}

export function showMore() {
  go({ k: Math.min(address.MOST, 2 * params.k) }, { replace: true, because: "more" });
}

// Words that were typed and not sent are meant all the same.
function typed() {
  const text = find("words").value.trim();
  return text && text !== params.text.trim() ? { text, ...UNMARKED } : {};
}

export function clear() {
  find("words").value = "";
  go({ ...address.empty() });
  find("words").focus();
}

export function dropPicture() {
  if (params.text || params.like.length) go({ picture: false, item: "", k: address.PAGE });
  else clear();
}

export function choose() {
  find("file").click();
}

// Searches with a picture and the words beside it; calls fail(problem), unless the query has changed by then.
export async function take(file, fail) {
  const seen = params;
  try {
    const prepared = await pictures.prepare(file);
    const shown = await pictures.toAddress(prepared);
    picture = { content: prepared, address: shown };
    loaded.forgetResults();
    go({ view: "search", text: find("words").value.trim(), ...UNMARKED, picture: true, item: "", k: address.PAGE });
  } catch (problem) {
    if (seen === params) fail(problem);
  }
}
