// What goes wrong, shown where it belongs, with ways out of it.

import * as address from "/static/address.js";
import * as answers from "/static/answers.js";
import * as asking from "/static/asking.js";
import { build, find } from "/static/build.js";
import * as details from "/static/details.js";
import * as known from "/static/known.js";
import { explain, passes } from "/static/mistakes.js";
import * as indexView from "/static/overview.js";
import * as place from "/static/place.js";
import * as service from "/static/service.js";
import * as states from "/static/states.js";

const AWAY_MS = 3000;
let awayTimer = 0;

export function show(problem) {
  known.forgetResults();
  const told = inWords(problem);
  if (asking.asked.view === "index") showInIndex(told);
  else if (!address.hasQuery(asking.asked)) showAtStart(told);
  else {
    showState(answers.heading(asking.asked), states.problem(told, actions()));
    waitWhileAway(told);
  }
  answers.say(explain(told)[0]);
}

// A file that cannot be searched with: the results on show stay.
export function refuse(problem) {
  if (asking.asked.view === "index" || !known.found) {
    show(problem);
    return;
  }
  const told = inWords(problem);
  const shown = states.problem(told, { ...actions(), dropPicture: null });
  find("notes").replaceChildren(shown);
  shown.querySelector("h2").focus();
  answers.say(explain(told)[0]);
}

export function showAtStart(problem) {
  find("start-view").replaceChildren(
    build("h1", { id: "start-heading", class: "hidden" }, "Search"), states.problem(inWords(problem), actions()));
  place.restore();
  waitWhileAway(problem);
}

export function showInIndex(problem) {
  find("index-view").replaceChildren(...indexView.failed(states.problem(inWords(problem), actions())));
  place.restore();
  waitWhileAway(problem);
}

// In place of results.
export function showState(title, shown) {
  answers.showState(title, shown);
  place.restore();
  details.shut();
}

export function stopWaiting() {
  clearTimeout(awayTimer);
}

function actions() {
  return {
    ask: asking.ask, choose: asking.choose, dropPicture: asking.asked.picture && asking.dropPicture, clear: asking.clear, where: asking.setWhere, again,
    hasFilters: asking.asked.where.length > 0, hasToken: service.hasToken(),
    token: (given) => { service.setToken(given); known.forgetResults(); asking.again(); },
  };
}

function again() {
  known.forgetResults();
  known.forgetIndex();
  asking.again();
}

// A mistake of this page is told like any other problem, and to the console.
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
