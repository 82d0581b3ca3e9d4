// One item, large, in a dialog.

import { build, find, icon } from "/static/build.js";
import { pictureOf, probability, title } from "/static/results.js";
import { picture } from "/static/service.js";
import * as words from "/static/words.js";

const SIZE = 960;
let close = () => {};
let step = () => {};
let isShut = true;

export function listen() {
  const dialog = find("details");
  dialog.addEventListener("cancel", (event) => { event.preventDefault(); close(); });
  // a browser may close it without asking
  dialog.addEventListener("close", () => { if (!isShut) close(); });
  dialog.addEventListener("click", (event) => { if (event.target === dialog) close(); });
  dialog.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "ArrowLeft") step(-1);
    if (event.key === "ArrowRight") step(1);
  });
}

// actions: close(), step(by), like(id), label(name); place: which of how many, or null
export function open(item, bits, place, actions) {
  close = actions.close;
  step = actions.step;
  const dialog = find("details");
  const hadFocus = dialog.contains(document.activeElement)
    ? document.activeElement.dataset.keep : null;
  dialog.replaceChildren(...content(item, bits, place, actions));
  isShut = false;
  if (!dialog.open) dialog.showModal();
  const wanted = hadFocus && dialog.querySelector(`[data-keep="${hadFocus}"]:not(:disabled)`);
  (wanted || dialog.querySelector("[data-keep=like]")).focus();
}

export function shut() {
  isShut = true;
  if (find("details").open) find("details").close();
}

function content(item, bits, place, actions) {
  const name = title(item);
  const shown = item.image
    ? pictureOf(item, name, SIZE, "eager")
    : build("p", { class: `quote${item.text ? "" : " is-id"}` }, item.text || item.id);
  return [
    build("div", { class: "bar" },
      build("p", { class: "quiet" }, place ? `${words.number(place.at + 1)} of ${words.number(place.of)}` : ""),
      place && arrow("previous", "Previous", "M15 5l-7 7 7 7", place.at === 0, () => actions.step(-1)),
      place && arrow("next", "Next", "M9 5l7 7-7 7", place.at === place.of - 1, () => actions.step(1)),
      arrow("close", "Close", "M6 6l12 12M18 6L6 18", false, actions.close)),
    build("div", { class: "large" }, shown),
    build("div", { class: "facts" },
      build("h2", { id: "details-heading" }, name),
      item.distance !== undefined && build("div", {}, probability(item), explained(item)),
      item.labels.length > 0 && build("ul", { class: "labels", "aria-label": "Labels" },
        item.labels.map((label) => build("li", {}, build("button", {
          type: "button", class: "tag", onclick: () => actions.label(label),
        }, words.value(label))))),
      table(item, bits),
      build("div", { class: "row" },
        build("button", { type: "button", class: "main", "data-keep": "like", onclick: () => actions.like(item.id) }, "More like this"),
        item.image && build("a", { class: "plain", href: picture(item.id), target: "_blank", rel: "noreferrer" }, "Open the picture"))),
  ];
}

function explained(item) {
  if (item.probability === null || item.probability === undefined) return null;
  return build("p", { class: "quiet explained" },
    `Of 100 results like this, about ${Math.round(100 * item.probability)} share a label with what was asked for.`);
}

function table(item, bits) {
  const rows = Object.entries(item.columns ?? {}).filter(([, cell]) => cell !== null);
  const known = [
    ...rows.map(([name, cell]) => [words.column(name), words.value(cell)]),
    ["Id", item.id],
    item.distance !== undefined && ["Distance", `${item.distance}${bits ? ` of ${bits} bits` : " bits"}`],
  ].filter(Boolean);
  return build("dl", {}, known.map(([name, cell]) => build("div", {},
    build("dt", {}, name), build("dd", {}, cell))));
}

function arrow(keep, name, path, disabled, act) {
  return build("button", {
    type: "button", class: "icon", "data-keep": keep, title: name, "aria-label": name, disabled, onclick: act,
  }, icon(path));
}
