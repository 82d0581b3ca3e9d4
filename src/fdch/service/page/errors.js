// What goes wrong, shown where it belongs, with ways out of it.

import * as address from "/static/address.js";
import * as answers from "/static/answers.js";
import { build, find } from "/static/build.js";
import * as details from "/static/details.js";
import { explain, passes } from "/static/explain.js";
import * as loaded from "/static/loaded.js";
import * as indexView from "/static/overview.js";
import * as query from "/static/query.js";
import * as scrolling from "/static/scrolling.js";
import * as service from "/static/service.js";
import * as states from "/static/states.js";

const AWAY_MS = 3000;
let awayTimer = 0;

export function show(problem) {
  loaded.forgetResults();
  const worded = inWords(problem);
  if (query.params.view === "index") showInIndex(worded);
  else if (!address.hasQuery(query.params)) showAtStart(worded);
  else {
    showState(answers.heading(query.params), states.problem(worded, actions()));
    waitWhileAway(worded);
  }
  answers.say(explain(worded)[0]);
}

// A file that cannot be searched with: the results on show stay.
export function refuse(problem) {
  if (query.params.view === "index" || !loaded.found) {
    show(problem);
    return;
  }
  const worded = inWords(problem);
  const shown = states.problem(worded, { ...actions(), dropPicture: null });
  find("notes").replaceChildren(shown);
  shown.querySelector("h2").focus();
  answers.say(explain(worded)[0]);
}

export function showAtStart(problem) {
  find("start-view").replaceChildren(
    build("h1", { id: "start-heading", class: "hidden" }, "Search"), states.problem(inWords(problem), actions()));
  scrolling.restore();
  waitWhileAway(problem);
}

export function showInIndex(problem) {
  find("index-view").replaceChildren(...indexView.failed(states.problem(inWords(problem), actions())));
  scrolling.restore();
  waitWhileAway(problem);
}

// In place of results.
export function showState(title, shown) {
  answers.showState(title, shown);
  scrolling.restore();
  details.shut();
}

export function stopWaiting() {
  clearTimeout(awayTimer);
}

function actions() {
  return {
    submit: query.submit, choose: query.choose, dropPicture: query.params.picture && query.dropPicture, clear: query.clear, where: query.setWhere, again,
    hasFilters: query.params.where.length > 0, hasToken: service.hasToken(),
    token: (given) => { service.setToken(given); loaded.forgetResults(); query.again(); },
  };
}

function again() {
  loaded.forgetResults();
  loaded.forgetIndex();
  query.again();
}

// An error of this page is shown like any other problem, and logged to the console.
function inWords(problem) {
  if (problem instanceof service.Problem) return problem;
  console.error(problem);
  return new service.Problem("page", "Something went wrong on this page.");
}

function waitWhileAway(problem) {
  if (!passes(problem)) return;
  clearTimeout(awayTimer);
  awayTimer = setTimeout(async () => {
    const isBack = await fetch("/ready").then((reply) => reply.ok, () => false);
    if (isBack) again();
    else waitWhileAway(problem);
  }, AWAY_MS);
}
