// Results as a grid of cards, and the arrow keys among them.

import { build, find, icon } from "/static/build.js";
import { cells } from "/static/columns.js";
import { show, thumbnail } from "/static/service.js";
import * as words from "/static/words.js";

const LABELS = 4;
const SIZE = 480;

// actions: address(id), open(id), like(id), similar(id), label(name), mark(id, name, way), markOf(id)
export function cards(results, bits, actions) {
  return results.map((result) => card(result, bits, actions));
}

export function title(result) {
  return result.text || result.labels.map(words.value).join(", ") || result.id;
}

export function skeletons(count) {
  return Array.from({ length: count }, () => build("li", { class: "card skeleton", "aria-hidden": "true" },
    build("div", { class: "picture" }), build("div", { class: "body" },
      build("p", { class: "line" }), build("p", { class: "line short" }))));
}

function card(result, bits, actions) {
  const name = title(result);
  const link = build("a", {
    class: `open${result.image ? "" : " is-text"}`, href: actions.address(result.id),
    onclick: (event) => {
      if (event.metaKey || event.ctrlKey || event.shiftKey) return;
      event.preventDefault();
      actions.open(result.id);
    },
  }, face(result, name));
  return build("li", { class: "card", "data-id": result.id },
    link,
    build("div", { class: "body" },
      result.image && result.text && build("p", { class: "text", dir: "auto", title: words.short(result.text, 1000) }, marked(result.text, result.matched)),
      cells(result),
      probability(result),
      result.similar?.length > 0 && build("button", {
        type: "button", class: "plain similar", "aria-label": `${words.number(result.similar.length)} similar to ${words.short(name)}`,
        title: "Show them", onclick: () => actions.similar(result.id),
      }, `${words.number(result.similar.length)} similar`),
      labels(result, actions),
      build("div", { class: "row" },
        build("button", {
          type: "button", class: "like", "aria-label": `More like this: ${words.short(name)}`,
          onclick: () => actions.like(result.id),
        }, "More like this"),
        markButtons(result.id, name, actions),
        result.distance !== null && build("small", { class: "quiet", title: `Its code differs from that of the query in ${result.distance} of ${bits} bits` },
          `distance ${result.distance}`))));
}

// One of the two is pressed, or none.
export function markButtons(id, name, actions) {
  const buttons = [["like", "Like"], ["unlike", "Dislike"]].map(([way, text]) => build("button", {
    type: "button", class: `icon mark-it is-${way}`, title: text, "aria-label": `${text}: ${words.short(name)}`,
    "data-id": id, "data-way": way, "aria-pressed": String(actions.markOf(id) === way), onclick: () => actions.mark(id, name, way),
  }, icon("M7 11v9H4v-9zM7 11l3.500-7.500c1.500 0 2.500 1 2.500 2.500v3.500h4.700a2 2 0 0 1 2 2.300l-1 6.400a2 2 0 0 1-2 1.800H7")));
  return build("span", { class: "mark-both" }, buttons);
}

function face(result, name) {
  if (result.image) return pictureOf(result, name, SIZE);
  if (result.text) return build("span", { class: "quote" }, build("span", { dir: "auto" }, marked(result.text, result.matched)));
  return build("span", { class: "quote is-id" }, build("span", { dir: "auto" }, result.id));
}

export function pictureOf(result, name, size, loading = "lazy") {
  const image = build("img", { alt: words.short(name), loading, decoding: "async", class: "is-coming" });
  image.addEventListener("load", () => {
    image.classList.remove("is-coming");
    // a tiny picture stays crisp when it is drawn larger
    if (image.naturalWidth && image.naturalWidth <= 96) image.classList.add("is-tiny");
  });
  image.addEventListener("error", () => {
    image.replaceWith(build("span", { class: "quote is-gone" },
      build("span", {}, "The picture cannot be shown"), build("small", { dir: "auto" }, words.short(name))));
  });
  show(image, thumbnail(result.id, size));
  return image;
}

export function probability(result) {
  if (result.probability === null || result.probability === undefined) return null;
  const meter = build("span", { class: "meter", "aria-hidden": "true" }, build("span", {}));
  meter.firstChild.style.width = `${100 * result.probability}%`;
  return build("p", { class: "fit" }, meter,
    build("span", {}, words.match(result.probability)), build("b", {}, words.percent(result.probability)));
}

function labels(result, actions) {
  if (!result.labels.length) return null;
  const shown = result.labels.slice(0, LABELS);
  const hidden = result.labels.length - shown.length;
  return build("ul", { class: "labels", "aria-label": "Labels" },
    shown.map((label) => build("li", {}, build("button", {
      type: "button", class: "tag", dir: "auto", title: `Only results with the label ${words.short(words.value(label))}`,
      onclick: () => actions.label(label),
    }, words.value(label)))),
    hidden > 0 && build("li", { class: "quiet" }, `+${hidden}`));
}

// Left and right go from card to card, up and down by rows.
export function moveFocus(event) {
  const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const step = steps[event.key];
  if (!step || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const links = [...find("grid").querySelectorAll("a.open")];
  if (!links.length) return;
  const field = find("words");
  if (document.activeElement === field) {
    if (event.key === "ArrowDown") { event.preventDefault(); links[0].focus(); }
    return;
  }
  const here = links.findIndex((link) => link.closest("li").contains(document.activeElement));
  if (here < 0) return;
  event.preventDefault();
  const to = here + step[0] + step[1] * columns(links);
  if (to < 0 && event.key === "ArrowUp") field.focus();
  else links[Math.max(0, Math.min(links.length - 1, to))].focus();
}

function columns(links) {
  const top = links[0].getBoundingClientRect().top;
  const below = links.findIndex((link) => link.getBoundingClientRect().top > top + 1);
  return below < 0 ? links.length : below;
}

// A text with the words that were searched for in <mark>, as elements and plain texts.
// matched: where words stand, in order, counted in whole characters
function marked(text, matched = []) {
  const letters = Array.from(text);
  const parts = [];
  let done = 0;
  for (const { start, end } of matched) {
    parts.push(letters.slice(done, start).join(""), build("mark", {}, letters.slice(start, end).join("")));
    done = end;
  }
  return [...parts, letters.slice(done).join("")];
}
