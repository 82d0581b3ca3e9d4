// What the page says when there is nothing to show, with something to do about it.

import { build } from "/static/build.js";
import { explain, passes } from "/static/explain.js";
import { pictureOf } from "/static/results.js";
import { isToken } from "/static/service.js";
import * as words from "/static/words.js";

const OF_PICTURES = ["not_a_picture", "broken_picture", "too_large"];
const WRONG_TOKEN = "The token is not known.";

// Whether the page is used with fingers: nothing is dropped or pasted then.
function isTouch() {
  return matchMedia("(pointer: coarse)").matches;
}

export function state(heading, body, buttons = [], kind = "") {
  return build("div", { class: `state ${kind}` },
    build("h2", { tabindex: "-1" }, heading),
    [body].flat().filter(Boolean).map((text) => (typeof text === "string" ? build("p", {}, text) : text)),
    buttons.length > 0 && build("div", { class: "chips" }, buttons));
}

export function button(text, act, look = "chip") {
  return build("button", { type: "button", class: look, onclick: act }, text);
}

// actions: submit(text), choose(), dropPicture(), again(), token(given), clear(), where(conditions)
export function problem(error, actions) {
  const [heading, ...body] = explain(error);
  if (passes(error)) {
    return state(heading, body, [button("Try again now", actions.again, "main")], error.code === "loading" ? "" : "is-problem");
  }
  if (error.status === 401 || error.status === 403) return tokenForm(actions);
  if (error.suggestions.length) {
    return state("No word of this is known here",
      "The model behind this index learned its words from its own texts. Perhaps one of these helps:",
      error.suggestions.map((word) => button(word, () => actions.submit(word))));
  }
  if (OF_PICTURES.includes(error.code)) {
    return state(heading, body, [button("Choose another picture", actions.choose, "main"),
      actions.dropPicture && button("Remove the picture", actions.dropPicture)].filter(Boolean), "is-problem");
  }
  if (error.status === 429 || error.status === 503) {
    const wait = error.wait ? ` Try again in ${words.counted(error.wait, "second")}.` : "";
    return state("Too much at once", `The service has more to do than it can.${wait}`,
      [button("Try again", actions.again, "main")], "is-problem");
  }
  return state(heading, body,
    [actions.hasFilters && error.status === 422 && button("Remove the filters", () => actions.where([]), "main"),
      button("Try again", actions.again), button("Start afresh", actions.clear)].filter(Boolean), "is-problem");
}

function tokenForm(actions) {
  const field = build("input", { id: "token", type: "password", autocomplete: "current-password", required: true, "aria-describedby": "token-wrong" });
  const wrong = build("p", { id: "token-wrong", class: "wrong", role: "alert", hidden: !actions.hasToken },
    actions.hasToken ? WRONG_TOKEN : "");
  const use = (given) => {
    if (isToken(given)) { actions.token(given); return; }
    wrong.hidden = false;
    wrong.textContent = "This is not a token: tokens have letters from A to Z, digits and the signs ._~+/=- only.";
    field.select();
  };
  return state("This service requires a token",
    ["Whoever runs it can give you one. It is kept until you close this tab.",
      build("form", {
        class: "token", onsubmit: (event) => { event.preventDefault(); use(field.value.trim()); },
      }, build("label", { for: "token" }, "Token"), field,
      build("button", { type: "submit", class: "main" }, "Use it")),
      wrong]);
}

export function nothing(params, best, actions) {
  if (params.least > 0 && best !== null) {
    const lower = Math.floor(20 * best) / 20;
    const most = `Nothing matches with ${words.percent(params.least)} or more. The best match has ${words.percent(best)}.`;
    return state("Nothing is that sure", most, [
      lower > 0 && lower < params.least
        && button(`Show results from ${words.percent(lower)}`, () => actions.least(lower), "main"),
      button("Show everything", () => actions.least(0)),
    ].filter(Boolean));
  }
  if (params.onlyWords) {
    return state("No text has these words", params.where.length ? "At least none under the filters." : "Others may mean the same.",
      [button("Search by meaning, too", () => actions.onlyWords(false), "main")]);
  }
  if (params.where.length) {
    return state("Nothing has all of these filters", "No item of the index fulfils all of them at once.",
      [button("Remove the filters", () => actions.where([]), "main")]);
  }
  return state("Nothing was found", "There is no other item in the index.", [button("Start afresh", actions.clear)]);
}

export function lostPicture(actions) {
  return state("This search was made with a picture",
    `Links carry words and filters, but no pictures. ${isTouch() ? "Choose it again." : "Drop the picture here, paste it, or choose it again."}`,
    [button("Choose the picture", actions.choose, "main"),
      actions.drop && button("Search with the words alone", actions.drop), button("Start afresh", actions.clear)].filter(Boolean));
}

export function start(index, examples, actions) {
  if (index.items === 0) {
    return [build("h1", { id: "start-heading", tabindex: "-1" }, "This index is empty"),
      build("p", { class: "lead" }, "Add items to it, then reload this page:"),
      build("pre", {}, build("code", {}, "fdch index add INDEX pairs.csv"))];
  }
  return [
    build("h1", { id: "start-heading", tabindex: "-1" }, "Find pictures with words, and words with pictures"),
    build("p", { class: "lead" }, `Type above what you are looking for, or bring a picture. ${words.counted(index.items, "item")} to search.`),
    build("button", { type: "button", class: "dropzone", onclick: actions.choose },
      build("b", {}, isTouch() ? "Search with a picture" : "Drop a picture anywhere on this page"),
      build("span", {}, isTouch() ? "Take a photo, or choose one that you have" : "or paste one, or click to choose a file")),
    examples.length > 0 && build("h2", { class: "small-heading" }, "Or begin with one of these"),
    examples.length > 0 && build("ul", { class: "examples" }, examples.map((each) => example(each, actions))),
  ].filter(Boolean);
}

function example(group, actions) {
  const name = group.own_labels.map(words.value).join(", ") || group.id;
  return build("li", {}, build("a", {
    href: actions.likeAddress(group.id),
    onclick: (event) => {
      if (event.metaKey || event.ctrlKey || event.shiftKey) return;
      event.preventDefault();
      actions.like(group.id);
    },
  }, exampleFace(group, name), build("span", { class: "name" }, name)));
}

function exampleFace(group, name) {
  const content = group.has_picture
    ? pictureOf({ id: group.id }, "", 240)
    : build("span", { class: "quote" }, group.text ?? name);
  return build("span", { class: "face" }, content);
}
