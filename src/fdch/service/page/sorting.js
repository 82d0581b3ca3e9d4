// The order of results: best first, or by a column of the index; near-duplicates once.

import { build, find } from "/static/build.js";
import * as words from "/static/words.js";

const ENDS = {
  number: ["lowest first", "highest first"],
  date: ["earliest first", "latest first"],
  boolean: ["no first", "yes first"],
  text: ["A to Z", "Z to A"],
};

// actions: sort(column), with "-" before it for the largest first; group(isSo)
export function draw(index, { sort, grouped }, actions) {
  const columns = index.columns ?? [];
  const options = [["", "best first"], ...columns.flatMap(both)];
  // a link may name a column that is not listed
  if (!options.some(([value]) => value === sort)) options.push([sort, sort]);
  const select = find("sort");
  select.replaceChildren(...options.map(([value, text]) => build("option", { value }, words.short(text, 60))));
  select.value = sort;
  select.onchange = () => actions.sort(select.value);
  find("sort-by").hidden = options.length === 1;
  const box = find("grouped");
  box.checked = grouped;
  box.onchange = () => actions.group(box.checked);
}

function both({ name, type }) {
  const [rising, falling] = ENDS[type] ?? ENDS.text;
  return [[name, `${words.column(name)}, ${rising}`], [`-${name}`, `${words.column(name)}, ${falling}`]];
}
