// One item, large, in a dialog.

import { build, find, icon } from "/static/build.js";
import { cell } from "/static/columns.js";
import { markButtons, pictureOf, probability, title } from "/static/results.js";
import * as service from "/static/service.js";
import * as words from "/static/words.js";

const SIZE = 960;
const HEADING_LINES = 6;
const QUOTE_LINES = 9;
const CELL_LINES = 4;
let close = () => {};
let step = () => {};
let isShut = true;

export function listen() {
  const dialog = find("details");
  dialog.addEventListener("cancel", (event) => { event.preventDefault(); close(); });
  // a browser may close it without a prompt
  dialog.addEventListener("close", () => { if (!isShut) close(); });
  dialog.addEventListener("click", (event) => { if (event.target === dialog) close(); });
  dialog.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "ArrowLeft") step(-1);
    if (event.key === "ArrowRight") step(1);
  });
}

// actions: close(), step(by), like(id), label(name), mark(id, name, way), markOf(id); place: which of how many, or null
export function open(item, bits, place, actions) {
  close = actions.close;
  step = actions.step;
  const dialog = find("details");
  const hadFocus = dialog.contains(document.activeElement)
    ? document.activeElement.dataset.keep : null;
  dialog.replaceChildren(...content(item, bits, place, actions));
  isShut = false;
  dialog.setAttribute("aria-label", words.short(title(item)));
  if (!dialog.open) dialog.showModal();
  measure(dialog);
  const wanted = hadFocus && dialog.querySelector(`[data-keep="${hadFocus}"]:not(:disabled)`);
  // the button may lie below; what is opened is seen from its beginning
  (wanted || dialog.querySelector("[data-keep=like]")).focus({ preventScroll: true });
  dialog.scrollTop = 0;
}

export function shut() {
  isShut = true;
  if (find("details").open) find("details").close();
}

function content(item, bits, place, actions) {
  const name = title(item);
  const shown = item.image
    ? pictureOf(item, name, SIZE, "eager")
    : build("div", { class: `quote${item.text ? "" : " is-id"}` }, fold(build("p", { dir: "auto" }, item.text || item.id), QUOTE_LINES));
  return [
    build("div", { class: "steps-bar" },
      build("p", { class: "quiet" }, place ? `${words.number(place.at + 1)} of ${words.number(place.of)}` : ""),
      place && arrow("previous", "Previous", "M15 5l-7 7 7 7", place.at === 0, () => actions.step(-1)),
      place && arrow("next", "Next", "M9 5l7 7-7 7", place.at === place.of - 1, () => actions.step(1)),
      arrow("close", "Close", "M6 6l12 12M18 6L6 18", false, actions.close)),
    build("div", { class: "large" }, shown),
    build("div", { class: "facts" },
      build("div", {}, fold(build("h2", { dir: "auto" }, name), HEADING_LINES)),
      item.distance !== undefined && build("div", {}, probability(item), explained(item)),
      item.labels.length > 0 && build("ul", { class: "labels", "aria-label": "Labels" },
        item.labels.map((label) => build("li", {}, build("button", {
          type: "button", class: "tag", dir: "auto", title: words.short(words.value(label)), onclick: () => actions.label(label),
        }, words.value(label))))),
      table(item, bits),
      build("div", { class: "row" },
        build("button", { type: "button", class: "main", "data-keep": "like", onclick: () => actions.like(item.id) }, "More like this"),
        markButtons(item.id, name, actions),
        item.image && pictureLink(item))),
  ];
}

function pictureLink(item) {
  const link = build("a", { class: "plain", href: service.picture(item.id), target: "_blank", rel: "noreferrer" }, "Open the picture");
  link.addEventListener("click", async (event) => {
    if (!service.hasToken()) return;
    event.preventDefault();
    if (!await service.openPicture(item.id)) link.textContent = "The picture cannot be opened";
  });
  return link;
}

function explained(item) {
  if (item.probability === null || item.probability === undefined) return null;
  return build("p", { class: "quiet explained" },
    `Of 100 results like this, about ${Math.round(100 * item.probability)} share a label with the query.`);
}

function table(item, bits) {
  const rows = Object.entries(item.columns ?? {}).filter(([, cell]) => cell !== null);
  const known = [
    ...rows.map(([name, value]) => [words.column(name), cell(value)]),
    ["Id", item.id],
    Number.isInteger(item.distance) && ["Distance", `${item.distance}${bits ? ` of ${bits} bits` : " bits"}`],
  ].filter(Boolean);
  return build("dl", {}, known.map(([name, shown]) => build("div", {},
    build("dt", { dir: "auto" }, name), build("dd", {}, fold(build("p", { dir: "auto" }, shown), CELL_LINES)))));
}

function arrow(keep, name, path, disabled, act) {
  return build("button", {
    type: "button", class: "icon", "data-keep": keep, title: name, "aria-label": name, disabled, onclick: act,
  }, icon(path));
}

// Long texts: their first lines, and a button for the rest where there is more.
// Gives the element with its button, to be put beside each other.
function fold(element, lines) {
  element.classList.add("folded");
  element.style.setProperty("--lines", lines);
  const more = build("button", { type: "button", class: "plain fold", "aria-expanded": "false", hidden: true }, "Show all of it");
  more.addEventListener("click", () => {
    const isOpen = element.classList.toggle("folded") === false;
    more.setAttribute("aria-expanded", String(isOpen));
    more.textContent = isOpen ? "Show less" : "Show all of it";
  });
  return [element, more];
}

// To be called once they are on show: only then is it known what is cut off.
function measure(within) {
  for (const element of within.querySelectorAll(".folded")) {
    element.nextElementSibling.hidden = element.scrollHeight <= element.clientHeight + 1;
  }
}
