// Charts as SVG, each with a sentence that states what it shows and its numbers.

import { build, draw } from "/static/build.js";
import * as words from "/static/words.js";

const WIDTH = 640;
const HEIGHT = 260;
const LEFT = 62; // room for words beside the bars
const EDGE = 8;
const BOTTOM = 34;

// A chart with its title, what it means, a sentence on what is seen, and a table.
export function figure(title, explanation, sentence, chart, head, rows, extra = []) {
  return build("figure", {},
    build("figcaption", {}, build("h2", {}, title), build("p", { class: "quiet" }, explanation)),
    chart, extra,
    build("p", { class: "chart-sentence" }, sentence),
    build("details", {}, build("summary", {}, "The numbers"),
      build("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `${title}: the numbers` },
        build("table", {},
          build("thead", {}, build("tr", {}, head.map((name) => build("th", { scope: "col" }, name)))),
          build("tbody", {}, rows.map((cells) => build("tr", {}, cells.map((cell) => build("td", {}, cell)))))))));
}

// One bar to each bit, from the middle: up for more ones, down for more zeros.
export function balanceChart(balance, sentence) {
  const middle = HEIGHT / 2;
  const wide = (WIDTH - LEFT) / balance.length;
  const bars = balance.map((share, bit) => {
    const tall = Math.max(1, Math.abs(share - 0.5) * 2 * (middle - 14));
    return draw("rect", {
      class: share === 0 || share === 1 ? "bar is-stuck" : "bar",
      x: LEFT + bit * wide + wide * 0.12, width: wide * 0.76, rx: Math.min(2, wide / 4),
      y: share >= 0.5 ? middle - tall : middle, height: tall,
    }, draw("title", {}, `bit ${bit + 1}: ${words.percent(share)} ones`));
  });
  return svg(sentence, [
    rule(middle, LEFT), axisWord(14, "all ones"), axisWord(middle + 4, "even"), axisWord(HEIGHT - 8, "all zeros"), bars,
  ]);
}

// Shares of pairs by distance, as filled curves over one another.
export function distanceChart(series, bits, sentence) {
  const floor = HEIGHT - BOTTOM;
  const most = Math.max(...series.flatMap((each) => each.shares), 1e-9);
  const x = (distance) => EDGE + (distance / bits) * (WIDTH - 2 * EDGE);
  const y = (share) => floor - (share / most) * (floor - 12);
  const curves = series.filter((each) => each.shares.length).map((each) => {
    const points = each.shares.map((share, distance) => `${x(distance).toFixed(1)},${y(share).toFixed(1)}`);
    return each.look === "chance"
      ? draw("polyline", { class: "curve is-chance", points: points.join(" ") })
      : draw("polygon", { class: `curve is-${each.look}`, points: `${x(0)},${floor} ${points.join(" ")} ${x(bits)},${floor}` });
  });
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((part) => draw("text", {
    class: "tick", x: x(part * bits), y: floor + 18, "text-anchor": part === 1 ? "end" : part ? "middle" : "start",
  }, String(Math.round(part * bits))));
  return svg(sentence, [
    rule(floor, EDGE), curves, ticks,
  ]);
}

export function legend(series) {
  return build("ul", { class: "legend" }, series.filter((each) => each.shares.length).map((each) => (
    build("li", {}, build("span", { class: `swatch is-${each.look}`, "aria-hidden": "true" }), each.name))));
}

// Codes on a plane, each in the colour of a label; its name is shown under the pointer.
export function mapChart(points, names, sentence) {
  const side = 420;
  const at = (value) => 12 + ((value + 1) / 2) * (side - 24);
  const dots = points.map(([x, y, group, label], place) => draw("circle", {
    class: `dot is-label-${label}`, "data-group": group, "data-label": label, cx: at(x).toFixed(1), cy: at(-y).toFixed(1), r: 3.4,
  }, draw("title", {}, names[place])));
  return draw("svg", { class: "chart is-map", viewBox: `0 0 ${side} ${side}`, role: "img", "aria-label": sentence }, dots);
}

// Marks the points of a "group" or a "label"; null for none.
export function mark(chart, kind, value) {
  const isMarked = (dot) => value !== null && dot.dataset[kind] === String(value);
  for (const dot of chart.querySelectorAll(".dot")) dot.classList.toggle("is-marked", isMarked(dot));
  chart.classList.toggle("has-mark", value !== null);
  // marked points are drawn over the others
  for (const dot of chart.querySelectorAll(".dot.is-marked")) chart.append(dot);
}

function svg(sentence, children) {
  return draw("svg", { class: "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": sentence }, children);
}

function rule(y, from) {
  return draw("line", { class: "rule", x1: from, x2: WIDTH, y1: y, y2: y });
}

function axisWord(y, name) {
  return draw("text", { class: "tick", x: 0, y }, name);
}
