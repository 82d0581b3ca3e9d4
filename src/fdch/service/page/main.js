// The page: what is asked for is its address; whatever changes that draws it anew.

import * as address from "/static/address.js";
import * as answers from "/static/answers.js";
import { build, find } from "/static/build.js";
import * as colours from "/static/colours.js";
import * as details from "/static/details.js";
import * as filters from "/static/filters.js";
import * as indexView from "/static/overview.js";
import * as keys from "/static/keys.js";
import * as pictures from "/static/picture.js";
import * as service from "/static/service.js";
import * as side from "/static/side.js";
import * as states from "/static/states.js";
import * as words from "/static/words.js";

const PATIENT_MS = 120; // quicker answers come without a sign of waiting
const AWAY_MS = 3000;

let asked = address.empty();
let picture = null; // the picture searched with, and its address for showing it
let index = null;
let overview = null;
let found = null; // { key, reply } of the results on show
let running = null; // what stops the search under way
let lastChange = "";
let isWaiting = false; // the results on show are about to be replaced
let leaving = ""; // the item whose dialog is being closed
let awayTimer = 0;

// --- changing what is asked for ---------------------------------------------

function go(changes, { replace = false, because = "" } = {}) {
  asked = { ...asked, ...changes };
  if (!asked.picture) picture = null;
  const kept = { picture: picture?.address ?? null };
  const written = address.write(asked);
  const isSame = written === location.pathname + location.search && !asked.picture;
  const way = replace || isSame ? "replaceState" : "pushState";
  try {
    history[way](kept, "", written);
  } catch { // the picture is too large for the browser's history
    history[way]({ picture: null }, "", written);
  }
  lastChange = because;
  render();
}

function ask(text) {
  const trimmed = text.trim();
  if (!trimmed && !asked.picture) {
    clear();
    return;
  }
  if (!trimmed) return;
  go({ view: "search", text: trimmed, like: "", picture: false, item: "", k: address.PAGE });
}

function like(id) {
  go({ view: "search", text: "", like: id, picture: false, item: "", k: address.PAGE });
  window.scrollTo({ top: 0 });
}

function likeAddress(id) {
  return address.write({ ...asked, view: "search", text: "", like: id, picture: false, item: "", k: address.PAGE });
}

function setWhere(where) {
  go({ where, item: "", k: address.PAGE });
}

function addLabel(label) {
  const has = filters.has(asked.where, filters.LABEL, label);
  go({ item: "", k: address.PAGE, where: has ? asked.where : filters.toggle(asked.where, filters.LABEL, label) });
}

function setLeast(least) {
  go({ least, k: address.PAGE }, { replace: lastChange === "least", because: "least" });
}

function clear() {
  go({ ...address.empty() });
  find("words").focus();
}

async function take(file) {
  const seen = asked;
  try {
    const prepared = await pictures.prepare(file);
    const shown = await pictures.toAddress(prepared);
    picture = { content: prepared, address: shown };
    found = null;
    go({ view: "search", text: "", like: "", picture: true, item: "", k: address.PAGE });
  } catch (problem) {
    if (seen === asked) showProblem(problem);
  }
}

// --- drawing ----------------------------------------------------------------

function render() {
  const isSearch = asked.view === "search";
  const hasQuery = address.hasQuery(asked);
  find("search-view").hidden = !isSearch || !hasQuery;
  find("start-view").hidden = !isSearch || hasQuery;
  find("index-view").hidden = isSearch;
  for (const link of document.querySelectorAll(".views a")) {
    if (link.dataset.view === asked.view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  drawField();
  clearTimeout(awayTimer);
  running?.abort(); // whatever is under way was asked for before
  if (!isSearch) renderIndex();
  else if (hasQuery) renderSearch();
  else renderStart();
  document.title = titleOf();
}

function titleOf() {
  if (asked.view === "index") return "The index · fdch";
  if (asked.text) return `${asked.text} · fdch`;
  if (asked.like) return `Like ${asked.like} · fdch`;
  return asked.picture ? "Like a picture · fdch" : "Search · fdch";
}

function drawField() {
  const field = find("words");
  if (document.activeElement !== field || lastChange !== "least") field.value = asked.text;
  const holder = find("asked-picture");
  const shown = picture && asked.picture
    ? build("img", { src: picture.address ?? "", alt: "The picture searched with" })
    : asked.like ? likeFace() : null;
  holder.hidden = !shown;
  holder.replaceChildren(...(shown ? [shown, build("button", {
    type: "button", class: "cross", "aria-label": asked.like ? "Stop looking for items like this" : "Remove the picture", onclick: clear,
  }, "×")] : []));
  field.placeholder = shown ? "Or type words instead" : "Describe what you are looking for";
}

function likeFace() {
  const image = build("img", { alt: `Like ${asked.like}` });
  image.addEventListener("error", () => image.replaceWith(build("span", { class: "name" }, asked.like)));
  service.show(image, service.thumbnail(asked.like, 96));
  return image;
}

async function renderStart() {
  const view = find("start-view");
  found = null;
  details.shut();
  const actions = { choose: () => find("file").click(), like, likeAddress };
  try {
    await learnIndex();
    if (address.hasQuery(asked) || asked.view !== "search") return;
    view.replaceChildren(...states.start(index, overview?.groups.slice(0, 6) ?? [], actions));
    if (overview || index.items === 0) return;
    await learnOverview().catch(() => null); // a page without examples is fine
    if (!view.hidden && overview) {
      view.replaceChildren(...states.start(index, overview.groups.slice(0, 6), actions));
    }
  } catch (problem) {
    view.replaceChildren(build("h1", { id: "start-heading", class: "hidden" }, "Search"), states.problem(problem, problemActions()));
    waitWhileAway(problem);
  }
}

async function renderIndex() {
  const view = find("index-view");
  details.shut();
  if (!overview) view.replaceChildren(...indexView.waiting());
  index = null; // it may have grown since
  overview = null;
  try {
    await Promise.all([learnIndex(), learnOverview()]);
    if (asked.view !== "index") return;
    view.replaceChildren(...indexView.content(index, overview, { like, likeAddress }));
    answers.say("The index is shown.");
  } catch (problem) {
    view.replaceChildren(...indexView.failed(states.problem(problem, problemActions())));
    waitWhileAway(problem);
  }
}

async function learnIndex() {
  index ??= await service.index();
  find("about").textContent = `${words.counted(index.items, "item")} · ${index.bits} bits`;
}

async function learnOverview() {
  overview ??= await service.overview();
}

async function renderSearch() {
  const key = address.withoutItem(asked) + (picture?.address ?? "");
  if (found?.key === key && !isWaiting) {
    side.draw(index, asked, false, { where: setWhere, least: setLeast });
    renderItem();
    return;
  }
  const stop = new AbortController();
  running = stop;
  find("grid").setAttribute("aria-busy", "true");
  const timer = setTimeout(() => { isWaiting = true; answers.wait(asked); }, PATIENT_MS);
  try {
    await learnIndex();
    if (stop.signal.aborted) return;
    side.draw(index, asked, lastChange === "least", { where: setWhere, least: setLeast });
    if (asked.picture && !picture) {
      showProblemState("With a picture", states.lostPicture({ choose: () => find("file").click(), clear }));
      return;
    }
    const reply = await search(asked, stop.signal);
    const best = reply.results.length ? null : await bestOf(asked, stop.signal);
    if (stop.signal.aborted) return;
    const isFirst = found === null;
    found = { key, reply };
    answers.show(asked, index, reply, best, {
      like, clear, open: (id) => go({ item: id }, { because: "open" }), label: addLabel, least: setLeast, where: setWhere, more: showMore,
    });
    // what had the focus may be gone with the results it belonged to
    if (!isFirst && document.activeElement === document.body) find("heading").focus({ preventScroll: true });
    renderItem();
  } catch (problem) {
    if (problem.name === "AbortError") return;
    showProblem(problem);
  } finally {
    clearTimeout(timer);
    if (!stop.signal.aborted) {
      isWaiting = false;
      find("grid").removeAttribute("aria-busy");
    }
  }
}

function search(wanted, signal) {
  const options = { k: wanted.k, where: wanted.where };
  if (wanted.least > 0 && index.has_probability) options.min_probability = wanted.least;
  if (wanted.picture) return service.searchPicture(picture.content, options, signal);
  if (wanted.like) return service.searchLike(wanted.like, options, signal);
  return service.searchText(wanted.text, options, signal);
}

// How probable the best result is when none is probable enough.
async function bestOf(wanted, signal) {
  if (!wanted.least) return null;
  const reply = await search({ ...wanted, least: 0, k: 1 }, signal);
  return reply.results[0]?.probability ?? null;
}

function showMore() {
  answers.focusWhenThere(found.reply.results.length);
  go({ k: Math.min(address.MOST, 2 * asked.k) }, { replace: true, because: "more" });
}

function problemActions() {
  return {
    ask, clear, where: setWhere, hasFilters: asked.where.length > 0, hasToken: service.hasToken(),
    again: () => { found = null; index = null; overview = null; render(); },
    token: (given) => { service.setToken(given); found = null; render(); },
  };
}

function showProblem(problem) {
  found = null;
  if (asked.view === "index") {
    find("index-view").replaceChildren(...indexView.failed(states.problem(told(problem), problemActions())));
  } else if (!address.hasQuery(asked)) {
    find("start-view").replaceChildren(build("h1", { id: "start-heading", class: "hidden" }, "Search"),
      states.problem(told(problem), problemActions()));
  } else {
    showProblemState(answers.heading(asked), states.problem(told(problem), problemActions()));
  }
  answers.say(problem.message);
  waitWhileAway(problem);
}

// A mistake of this page is told like any other problem, and to the console.
function told(problem) {
  if (problem instanceof service.Problem) return problem;
  console.error(problem);
  return new service.Problem("page", "Something went wrong on this page.");
}

function showProblemState(title, shown) {
  answers.showState(title, shown);
  details.shut();
}

function waitWhileAway(problem) {
  if (problem.code !== "away") return;
  clearTimeout(awayTimer);
  awayTimer = setTimeout(async () => {
    const isBack = await fetch("/ready").then((reply) => reply.ok, () => false);
    if (isBack) problemActions().again();
    else waitWhileAway(problem);
  }, AWAY_MS);
}

// --- one item ---------------------------------------------------------------

async function renderItem() {
  if (!asked.item) {
    details.shut();
    focusCard(leaving);
    leaving = "";
    return;
  }
  const list = found?.reply.results ?? [];
  const at = list.findIndex((result) => result.id === asked.item);
  const wanted = asked.item;
  let item = list[at];
  try {
    item ??= await service.item(wanted);
  } catch {
    go({ item: "" }, { replace: true });
    return;
  }
  if (asked.item !== wanted) return;
  details.open(item, index?.bits, at < 0 ? null : { at, of: list.length }, {
    like, label: addLabel,
    close: () => closeItem(wanted),
    step: (by) => list[at + by] && go({ item: list[at + by].id }, { replace: true, because: lastChange }),
  });
}

// An item that was opened here is closed by going back; one from a link has no way back.
function closeItem(id) {
  leaving = id;
  if (lastChange === "open") history.back();
  else go({ item: "" });
}

function focusCard(id) {
  const cards = [...find("grid").children];
  cards.find((card) => id && card.dataset.id === id)?.querySelector("a.open")?.focus();
}

// --- history, and the start ---------------------------------------------------

function readAddress() {
  asked = address.read(location.search);
  const kept = history.state?.picture;
  picture = asked.picture && kept ? { content: pictures.fromAddress(kept), address: kept } : null;
  lastChange = "";
}

find("search").addEventListener("submit", (event) => {
  event.preventDefault();
  ask(find("words").value);
});
for (const link of document.querySelectorAll("a[data-view]")) {
  link.addEventListener("click", (event) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    if (link.classList.contains("brand")) go(address.empty());
    else go({ view: link.dataset.view, item: "" });
  });
}
window.addEventListener("popstate", () => { readAddress(); render(); });
find("side-fold").open = matchMedia("(min-width: 56rem)").matches;
pictures.listen(take);
details.listen();
keys.listen(() => { if (address.hasQuery(asked)) clear(); });
colours.listen();
readAddress();
render();
if (asked.view === "search" && !address.hasQuery(asked)) find("words").focus();
