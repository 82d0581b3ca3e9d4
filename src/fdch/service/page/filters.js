// Chips and ranges from what the index holds, and the conditions they stand for.

import { build } from "/static/build.js";
import * as words from "/static/words.js";

const SHOWN = 8;
export const LABEL = "label";
const opened = new Set();

// As the service reads conditions: what is in double quotes is taken letter by letter.
const TEXT = String.raw`"(?:[^"\\]|\\.)*"`;
const QUOTED = new RegExp(`^${TEXT}$`, "s");
const NAMED = new RegExp(String.raw`^\s*(${TEXT})\s*(!=|<=|>=|=|<|>|in(?=[\s"[]))(.*)$`, "s");
const PART = new RegExp(String.raw`\s*(${TEXT}(?=\s*(?:,|$))|[^,]*)\s*(?:,|$)`, "gs");
const PLAIN = /^[^\s\p{C}\p{Z}](?:.*[^\s\p{C}\p{Z}])?$/su;

export function parse(text) {
  const named = NAMED.exec(text);
  if (named) return condition(unquoted(named[1]), named[2], named[3]);
  const listed = /^\s*(.*?)\s+in\s+(.*)$/s.exec(text);
  const written = /^\s*(.*?)\s*(!=|<=|>=|=|<|>)(.*)$/s.exec(text);
  if (listed && (!written || listed[1].length < written[1].length)) {
    return condition(listed[1], "in", listed[2]);
  }
  if (written) return condition(written[1], written[2], written[3]);
  return { column: text, operator: "", values: [] };
}

function condition(column, operator, rest) {
  const values = operator === "in" ? listedValues(rest) : [unquoted(rest.trim())];
  return { column, operator, values };
}

function unquoted(text) {
  if (!QUOTED.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function listedValues(given) {
  const trimmed = given.trim();
  if (!trimmed.startsWith("[")) {
    return [...trimmed.matchAll(PART)].map((part) => part[1].trim()).filter(Boolean).map(unquoted);
  }
  try {
    return JSON.parse(trimmed).map(String);
  } catch {
    return [];
  }
}

// In double quotes only where it would not be read again as it is.
export function write(column, operator, values) {
  const rest = operator === "in" ? ` in ${JSON.stringify(values)}` : `${operator}${values[0]}`;
  const again = parse(`${column}${rest}`);
  const isSame = again.column === column && again.operator === operator
    && JSON.stringify(again.values) === JSON.stringify(values);
  if (isSame && [column, ...values].every((each) => PLAIN.test(each))) return `${column}${rest}`;
  return `${JSON.stringify(column)} ${operator} ${JSON.stringify(operator === "in" ? values : values[0])}`;
}

export function has(where, column, value) {
  return where.map(parse).some(
    (each) => each.column === column && ["=", "in"].includes(each.operator)
      && each.values.includes(String(value)),
  );
}

// Labels narrow: an item has all that are chosen. A column has one value: any of them.
export function toggle(where, column, value) {
  const text = String(value);
  if (column === LABEL) {
    return has(where, LABEL, text)
      ? where.filter((each) => !isOnly(each, LABEL, text))
      : [...where, write(LABEL, "=", [text])];
  }
  const isChosen = (each) => each.column === column && ["=", "in"].includes(each.operator);
  const before = where.map(parse).filter(isChosen).flatMap((each) => each.values);
  const after = before.includes(text)
    ? before.filter((each) => each !== text)
    : [...before, text];
  const others = where.filter((each) => !isChosen(parse(each)));
  if (!after.length) return others;
  return [...others, write(column, after.length === 1 ? "=" : "in", after)];
}

function isOnly(condition, column, text) {
  const each = parse(condition);
  return each.column === column && each.values.length === 1 && each.values[0] === text;
}

export function bound(where, column, operator, value) {
  const others = where.filter((each) => {
    const { column: name, operator: used } = parse(each);
    return name !== column || used !== operator;
  });
  return value === "" ? others : [...others, write(column, operator, [value])];
}

export function tell(condition) {
  const { column, operator, values } = parse(condition);
  const shown = values.map(words.value).join(" or ");
  if (column === LABEL && ["=", "in"].includes(operator)) return shown;
  const signs = { "=": ":", in: ":", "!=": " is not", "<=": " up to", ">=": " from", "<": " below", ">": " above" };
  return `${words.column(column)}${signs[operator] ?? ""} ${shown}`;
}

export function activeChips(where, change) {
  const chips = where.map((condition) => build("button", {
    type: "button", class: "chip is-on", "aria-label": `Remove the filter ${tell(condition)}`,
    onclick: () => change(where.filter((each) => each !== condition)),
  }, tell(condition), build("span", { class: "cross", "aria-hidden": "true" }, "×")));
  if (where.length > 1) {
    chips.push(build("button", { type: "button", class: "plain", onclick: () => change([]) }, "Remove all"));
  }
  return chips;
}

// change(where) is called with the conditions as they are to be.
export function panel(index, where, change) {
  const groups = [];
  if (index.uncounted) {
    groups.push(build("p", { class: "note" }, "Labels and values are not listed here: there are too many items to count them."));
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
    "aria-label": `${words.value(value)}, ${words.counted(count, "item")}`,
    onclick: () => change(toggle(where, column, value)),
  }, words.value(value), build("span", { class: "count" }, words.number(count))));
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
    build("h2", { id }, title), build("div", { class: "chips" }, chips), fold);
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
