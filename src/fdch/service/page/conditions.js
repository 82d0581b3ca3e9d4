// Conditions on results: parsed, written and described as the service does.

import * as words from "/static/words.js";

export const LABEL = "label";

// As the service reads conditions: what is in double quotes is taken letter by letter.
const TEXT = String.raw`"(?:[^"\\]|\\.)*"`;
const QUOTED = new RegExp(`^${TEXT}$`, "s");
const NAMED = new RegExp(String.raw`^\s*(${TEXT})\s*(!=|<=|>=|\^=|=|<|>|in(?=[\s"[]))(.*)$`, "s");
const PART = new RegExp(String.raw`\s*(${TEXT}(?=\s*(?:,|$))|[^,]*)\s*(?:,|$)`, "gs");
// The service takes signs at an end for a mistake, and "and" for two conditions in one.
const PLAIN = /^[\p{L}\p{N}_.-](?:[\p{L}\p{N}_. -]*[\p{L}\p{N}_.-])?$/u;

export function parse(text) {
  const named = NAMED.exec(text);
  if (named) return condition(unquoted(named[1]), named[2], named[3]);
  const listed = /^\s*(.*?)\s+in\s+(.*)$/s.exec(text);
  const written = /^\s*(.*?)\s*(!=|<=|>=|\^=|=|<|>)(.*)$/s.exec(text);
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

// Labels narrow: an item has all that are selected. A column has one value: any of them.
export function toggle(where, column, value) {
  const text = String(value);
  const isChosen = (each) => each.column === column && ["=", "in"].includes(each.operator);
  if (column === LABEL) {
    if (!has(where, LABEL, text)) return [...where, write(LABEL, "=", [text])];
    return where.flatMap((condition) => {
      const each = parse(condition);
      return isChosen(each) && each.values.includes(text) ? oneOf(LABEL, without(each.values, text)) : [condition];
    });
  }
  const before = where.map(parse).filter(isChosen).flatMap((each) => each.values);
  const after = before.includes(text) ? without(before, text) : [...before, text];
  return [...where.filter((each) => !isChosen(parse(each))), ...oneOf(column, after)];
}

function without(values, text) {
  return values.filter((each) => each !== text);
}

// That a column has one of these values, as one condition, or none.
function oneOf(column, values) {
  return values.length ? [write(column, values.length === 1 ? "=" : "in", values)] : [];
}

export function bound(where, column, operator, value) {
  const others = where.filter((each) => {
    const { column: name, operator: used } = parse(each);
    return name !== column || used !== operator;
  });
  return value === "" ? others : [...others, write(column, operator, [value])];
}

export function describe(condition) {
  const { column, operator, values } = parse(condition);
  const shown = values.map(words.value).join(" or ");
  if (column === LABEL && ["=", "in"].includes(operator)) return shown;
  const signs = { "=": ":", in: ":", "!=": " is not", "<=": " up to", ">=": " from", "<": " below", ">": " above", "^=": " begins with" };
  return `${words.column(column)}${signs[operator] ?? ""} ${shown}`;
}
