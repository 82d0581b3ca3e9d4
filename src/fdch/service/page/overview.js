// The second view: what the index holds, and how its codes lie.

import * as adding from "/static/adding.js";
import { build } from "/static/build.js";
import { balanceChart, distanceChart, figure, legend, mapChart, mark } from "/static/charts.js";
import { pictureOf } from "/static/results.js";
import * as words from "/static/words.js";

const KINDS = { pair: "with picture and text", image: "with a picture only", text: "with a text only", code: "with a code only" };
const EVEN = 0.2;

export function waiting() {
  return [heading(), build("p", { class: "lead" }, "Looking at the codes…"),
    build("div", { class: "tiles" }, Array.from({ length: 4 }, () => build("div", { class: "tile skeleton" })))];
}

export function failed(shown) {
  return [heading(), shown];
}

// actions: like(id), likeAddress(id), added()
export function content(index, known, actions) {
  const parts = [heading(), lead(index, known), tiles(index, known), adding.form(index, actions)].filter(Boolean);
  if (known.items === 0) return parts;
  if (!known.sampled) {
    return [...parts, build("p", { class: "lead" }, "This kind of store cannot give a sample of its codes, so there is no more to show.")];
  }
  return [...parts, build("div", { class: "figures" }, distances(known), balance(known), groups(known, actions))];
}

function heading() {
  return build("h1", { id: "index-heading", tabindex: "-1" }, "The index");
}

function lead(index, known) {
  const few = known.sampled && known.sampled < known.items
    ? ` What follows is from a sample of ${words.number(known.sampled)}.` : "";
  return build("p", { class: "lead" },
    `${words.counted(index.items, "item")}, each known by a code of ${index.bits} bits, made by the method ${index.method}.${few}`);
}

function tiles(index, known) {
  const kinds = Object.keys(KINDS).map((kind) => [kind, index.kinds?.[kind] ?? 0]).filter(([, count]) => count > 0);
  const kept = index.items * Math.ceil(index.bits / 8);
  const tile = (figure, text) => build("div", { class: "tile" }, build("b", {}, figure), build("span", {}, text));
  return build("div", { class: "tiles" },
    kinds.map(([kind, count]) => tile(words.number(count), KINDS[kind])),
    index.labels && tile(words.number(index.label_count), index.label_count === 1 ? "label" : "labels"),
    tile(size(kept), "for all codes"),
    known.sampled > 0 && tile(words.percent(known.distinct / known.sampled), "of the codes are distinct"));
}

function size(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1e6) return `${(bytes / 1e3).toFixed(1)} kB`;
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}

function balance(known) {
  const stuck = known.balance.filter((share) => share === 0 || share === 1).length;
  const even = known.balance.filter((share) => Math.abs(share - 0.5) <= EVEN).length;
  const sentence = `${even} of ${words.counted(known.bits, "bit")} are used evenly (30% to 70% ones)${
    stuck ? `; ${words.counted(stuck, "bit")} never ${stuck === 1 ? "changes" : "change"} and ${stuck === 1 ? "carries" : "carry"} no information.` : "; none is the same for all."}`;
  return figure("How evenly the bits are used",
    "A bit that is one for half of the items is most informative. Bars show how far each bit leans.",
    sentence, balanceChart(known.balance, sentence), ["Bit", "Ones"],
    known.balance.map((share, bit) => [String(bit + 1), words.percent(share)]));
}

function mean(shares) {
  return shares.reduce((sum, share, distance) => sum + share * distance, 0);
}

function distances(known) {
  const hasLabels = known.distances_alike?.length > 0 && known.distances_unlike?.length > 0;
  const series = hasLabels
    ? [{ name: "pairs that share no label", look: "unlike", shares: known.distances_unlike },
      { name: "pairs that share a label", look: "alike", shares: known.distances_alike }]
    : [{ name: "random pairs", look: "alike", shares: known.distances }];
  series.push({ name: "coins instead of codes", look: "chance", shares: known.chance ?? [] });
  const sentence = hasLabels
    ? `Two items that share a label differ in ${mean(known.distances_alike).toFixed(1)} of ${known.bits} bits on average, two that share none in ${mean(known.distances_unlike).toFixed(1)}.`
    : `Two random items differ in ${mean(known.distances).toFixed(1)} of ${known.bits} bits on average.`;
  return figure("Distances between random items",
    "In how many bits two items differ. The further apart the two hills, the better the codes separate what belongs together.",
    sentence, distanceChart(series, known.bits, sentence),
    ["Bits apart", ...series.map((each) => each.name)],
    known.distances.map((_, distance) => [String(distance),
      ...series.map((each) => (each.shares.length ? `${(100 * each.shares[distance]).toFixed(1)}%` : ""))]),
    [legend(series)]);
}

function groups(known, actions) {
  const largest = known.groups[0]?.size ?? 1;
  const sentence = `${words.counted(known.groups.length, "group")} of near codes; the largest holds ${words.percent(largest / known.sampled)} of the items.`;
  const chart = mapChart(known.points, known.names, `The codes laid on a plane: near codes lie together. ${sentence}`);
  const list = build("ul", { class: "groups" }, known.groups.map((group, place) => groupRow(group, place, known, chart, actions)));
  return figure("How the codes group",
    "Each dot is an item, near ones have like codes. Choose a label or point at a group to see where it lies; open a group to see its items.",
    sentence, build("div", { class: "map" }, build("div", {}, chart, labelLegend(known, chart)), list), ["Group", "Items", "Labels in common"],
    known.groups.map((group, place) => [String(place + 1), words.percent(group.size / known.sampled), group.labels.map(words.value).join(", ")]));
}

// Which colour stands for which label; one that is chosen stays marked.
function labelLegend(known, chart) {
  if (!known.labels.length) return null;
  let chosen = null;
  const off = () => mark(chart, "label", chosen);
  const buttons = known.labels.map((label, place) => {
    const on = () => mark(chart, "label", place);
    return build("button", {
      type: "button", class: "chip", dir: "auto", "aria-pressed": "false", onfocus: on, onblur: off, onmouseenter: on, onmouseleave: off,
      onclick: () => {
        chosen = chosen === place ? null : place;
        buttons.forEach((each, at) => each.setAttribute("aria-pressed", String(at === chosen)));
        off();
      },
    }, build("span", { class: `colour is-label-${place}`, "aria-hidden": "true" }), build("span", { class: "what" }, words.value(label)));
  });
  const hasOthers = known.points.some((point) => point[3] < 0);
  return [build("ul", { class: "legend is-labels", "aria-label": "Colours" }, buttons.map((each) => build("li", {}, each)),
    hasOthers && build("li", { class: "quiet" }, build("span", { class: "colour", "aria-hidden": "true" }), "others")),
  build("p", { class: "quiet explained" }, "An item with several of these labels has the colour of the rarest.")];
}

function groupRow(group, place, known, chart, actions) {
  const name = group.labels.map(words.value).join(", ") || "nothing in common";
  const on = () => mark(chart, "group", place);
  const off = () => mark(chart, "group", null);
  const face = group.has_picture
    ? pictureOf({ id: group.id }, "", 96)
    : build("span", { class: "quote" }, (group.text ?? group.id).slice(0, 40));
  const meter = build("span", { class: "meter", "aria-hidden": "true" }, build("span", {}));
  meter.firstChild.style.width = `${(100 * group.size) / known.groups[0].size}%`;
  return build("li", {}, build("a", {
    href: actions.likeAddress(group.id), onfocus: on, onblur: off, onmouseenter: on, onmouseleave: off,
    onclick: (event) => {
      if (event.metaKey || event.ctrlKey || event.shiftKey) return;
      event.preventDefault();
      actions.like(group.id);
    },
  }, build("span", { class: "face" }, face), build("span", { class: "name" }, name), meter,
  build("span", { class: "share" }, words.percent(group.size / known.sampled))));
}
