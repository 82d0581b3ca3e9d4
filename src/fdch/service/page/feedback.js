// Items marked on their cards: results should be like some of them and unlike others.

import { onlyItem } from "/static/address.js";
import { build, find } from "/static/build.js";
import * as query from "/static/query.js";
import * as service from "/static/service.js";
import { button } from "/static/states.js";
import * as words from "/static/words.js";

const names = new Map(); // of items that were marked here
let marks = new Map(); // id to "like" or "unlike", searched with or about to be
let drawn = ""; // the query that the marks belong to

export function markOf(id) {
  return marks.get(id) ?? "";
}

// Marks an item, or takes back the mark that it has; others may follow before the search.
export function mark(id, name, way) {
  names.set(id, name);
  if (markOf(id) === way) marks.delete(id);
  else marks.set(id, way);
  drawBar();
}

export function draw() {
  const { text, picture, like, unlike } = query.params;
  const now = JSON.stringify([text, picture, like, unlike]);
  if (now !== drawn) marks = new Map([...like.map((id) => [id, "like"]), ...unlike.map((id) => [id, "unlike"])]);
  drawn = now;
  drawBar();
}

function drawBar() {
  const { params } = query;
  const isChanged = ["like", "unlike"].some((way) => marked(way).join("\n") !== params[way].join("\n"));
  const bar = find("marks");
  bar.hidden = !isChanged && (!marks.size || onlyItem(params) !== "");
  for (const each of document.querySelectorAll(".mark-it")) {
    each.setAttribute("aria-pressed", String(markOf(each.dataset.id) === each.dataset.way));
  }
  bar.replaceChildren(...(isChanged ? [button("Refine the search", search, "main")] : []),
    ...[...marks].map(([id, way]) => chip(id, way)));
}

function marked(way) {
  return [...marks.keys()].filter((id) => marks.get(id) === way);
}

function search() {
  query.refine(marked("like"), marked("unlike"));
}

function chip(id, way) {
  const name = words.short(names.get(id) ?? id);
  const image = build("img", { alt: "" });
  image.addEventListener("error", () => image.remove());
  service.show(image, service.thumbnail(id, 96));
  const said = way === "like" ? "Like" : "Dislike";
  return build("button", {
    type: "button", class: `chip mark-chip is-${way}`, title: name,
    "aria-label": `Remove the ${said.toLowerCase()} of ${name}`,
    onclick: () => remove(id),
  }, image, build("b", {}, said),
  build("span", { class: "what", dir: "auto" }, name), build("span", { class: "cross", "aria-hidden": "true" }, "×"));
}

function remove(id) {
  const isUsed = [...query.params.like, ...query.params.unlike].includes(id);
  marks.delete(id);
  if (isUsed) search();
  else drawBar();
  find("heading").focus({ preventScroll: true }); // the chip that had the focus is gone
}
