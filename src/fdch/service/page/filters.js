// Chips and ranges from what the index holds, for the conditions they stand for.

import { build } from "/static/build.js";
import { LABEL, bound, has, parse, describe, toggle } from "/static/conditions.js";
import * as words from "/static/words.js";

const SHOWN = 8;
const COUNTED = 20; // the most frequent values, which the service counts
const opened = new Set();

export function activeChips(where, change) {
  const chips = where.map((condition) => build("button", {
    type: "button", class: "chip is-on", "aria-label": `Remove the filter ${words.short(describe(condition))}`,
    title: words.short(describe(condition), 1000),
    onclick: () => change(where.filter((each) => each !== condition)),
  }, build("span", { class: "what", dir: "auto" }, describe(condition)), build("span", { class: "cross", "aria-hidden": "true" }, "×")));
  if (where.length > 1) {
    chips.push(build("button", { type: "button", class: "plain", onclick: () => change([]) }, "Remove all"));
  }
  return chips;
}

// change(where) is called with the conditions as they are to be.
export function panel(index, where, change) {
  const groups = [];
  if (index.uncounted) {
    groups.push(build("p", { class: "note" }, `Labels and values are not listed here: ${index.uncounted}`));
  }
  if (index.labels?.length) {
    const values = index.labels.map(({ name, count }) => ({ value: name, count }));
    groups.push(chipGroup("Labels", LABEL, values, index.label_count, where, change));
  }
  for (const column of index.columns ?? []) {
    const many = column.values.length > SHOWN;
    if (column.numeric && many && column.min !== null && column.min !== undefined) {
      groups.push(rangeGroup(column, where, change));
    } else if (column.values.some((each) => each.count > 1)) {
      const values = column.numeric
        ? [...column.values].sort((a, b) => Number(a.value) - Number(b.value))
        : column.values;
      groups.push(chipGroup(words.column(column.name), column.name, values, column.value_count, where, change));
    }
  }
  return groups;
}

// There are so many values as total says, of which the most frequent are listed.
function chipGroup(title, column, values, total, where, change) {
  const id = `group-${column}`;
  const isOpen = opened.has(column);
  const shown = values.filter(
    (each, place) => isOpen || place < SHOWN || has(where, column, each.value),
  );
  const chips = shown.map(({ value, count }) => build("button", {
    type: "button", class: "chip", "data-column": column, "data-value": value,
    "aria-pressed": has(where, column, value) ? "true" : "false",
    "aria-label": chipName(value, count), title: words.short(words.value(value), 1000),
    onclick: () => change(toggle(where, column, value)),
  }, build("span", { class: "what", dir: "auto" }, words.value(value)), build("span", { class: "count" }, words.number(count))));
  const fold = values.length > SHOWN && build("button", {
    type: "button", class: "plain", "aria-expanded": String(isOpen), "data-fold": column,
    onclick: () => {
      if (isOpen) opened.delete(column); else opened.add(column);
      change(where);
    },
  }, isOpen ? "Show fewer" : total > values.length
    ? `Show the ${words.number(values.length)} most frequent of ${words.number(total)}`
    : `Show all ${words.number(values.length)}`);
  return build("div", { class: "group", role: "group", "aria-labelledby": id },
    build("h2", { id, dir: "auto" }, title), build("div", { class: "chips" }, chips), fold);
}

// How many of the items under the other filters have the value of a chip.
export function recount(chip, facets) {
  const { column, value } = chip.dataset;
  const counted = facets?.columns[column];
  if (!counted) return;
  const count = counted.find((each) => String(each.value) === value)?.count;
  const isKnown = count !== undefined || counted.length < COUNTED;
  chip.classList.toggle("is-none", isKnown && !count);
  chip.setAttribute("aria-label", isKnown ? chipName(value, count ?? 0) : words.short(words.value(value)));
  chip.querySelector(".count").textContent = isKnown ? words.number(count ?? 0) : "";
}

function chipName(value, count) {
  return `${words.short(words.value(value))}, ${words.counted(count, "item")}`;
}

function rangeGroup(column, where, change) {
  const id = `group-${column.name}`;
  const field = (operator, name, placeholder) => {
    const now = where.map(parse).find(
      (each) => each.column === column.name && each.operator === operator,
    );
    return build("label", { class: "bound" }, name, build("input", {
      type: "number", step: "any", value: now?.values[0] ?? "", placeholder,
      "data-column": column.name, "data-value": operator,
      onchange: (event) => change(bound(where, column.name, operator, event.target.value)),
    }));
  };
  return build("div", { class: "group", role: "group", "aria-labelledby": id },
    build("h2", { id }, words.column(column.name)),
    build("div", { class: "bounds" },
      field(">=", "from", column.min), field("<=", "to", column.max)));
}

// Whether all items are results, or those alone whose texts have words of the query.
export function wordsBox(isOn, change) {
  const box = build("input", { id: "only-words", type: "checkbox", checked: isOn, onchange: () => change(box.checked) });
  return build("div", { class: "group" }, build("label", {}, box, "Only texts with these words"));
}

// The slider of the least probability; change(least) while it moves.
export function slider(least, change) {
  const said = build("p", { class: "quiet said", id: "least-said" }, tellLeast(least));
  const input = build("input", {
    id: "least", type: "range", min: 0, max: 95, step: 5, value: Math.round(100 * least),
    "aria-describedby": "least-said", "aria-valuetext": tellLeast(least),
    oninput: (event) => {
      const now = Number(event.target.value) / 100;
      said.textContent = tellLeast(now);
      event.target.setAttribute("aria-valuetext", tellLeast(now));
      change(now);
    },
  });
  return build("div", { class: "group" },
    build("h2", {}, build("label", { for: "least" }, "How sure to be")), input, said);
}

export function tellLeast(least) {
  return least > 0 ? `Only matches of ${words.percent(least)} or more` : "All results, best first";
}
