// A text with the words that were searched for in <mark>, as elements and plain texts.

import { build } from "/static/build.js";

// matched: where words stand, in order, counted in whole characters
export function marked(text, matched = []) {
  const letters = Array.from(text);
  const parts = [];
  let done = 0;
  for (const { start, end } of matched) {
    parts.push(letters.slice(done, start).join(""), build("mark", {}, letters.slice(start, end).join("")));
    done = end;
  }
  return [...parts, letters.slice(done).join("")];
}
