// What the service has told so far: of the index, and the results on show.

import { find } from "/static/build.js";
import * as indexes from "/static/indexes.js";
import * as service from "/static/service.js";
import * as words from "/static/words.js";

export let index = null;
export let overview = null;
export let found = null; // { key, k, reply } of the results on show: k were requested

export async function learnIndex() {
  index ??= await service.index();
  indexes.draw();
  find("about").textContent = `${words.counted(index.items, "item")} · ${index.bits} bits`;
}

export async function learnOverview() {
  overview ??= await service.overview();
}

export function forgetIndex() {
  index = null;
  overview = null;
}

export function keepResults(key, k, reply) {
  found = { key, k, reply };
}

export function forgetResults() {
  found = null;
}
