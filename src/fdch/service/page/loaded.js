// What was loaded from the service: facts about the index, and the results on show.

import { INDEX } from "/static/address.js";
import { find } from "/static/build.js";
import * as service from "/static/service.js";
import * as words from "/static/words.js";

export let index = null;
export let overview = null;
export let found = null; // { key, k, reply } of the results on show: k were requested
let hasIndexes = false;

export async function learnIndex() {
  index ??= await service.index();
  drawIndexes();
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

// The choice between several indexes; hidden where there is only one.
async function drawIndexes() {
  if (hasIndexes) return;
  hasIndexes = true;
  const { indexes } = await service.indexes().catch(() => ({ indexes: [] }));
  const choice = find("indexes");
  choice.hidden = indexes.length < 2;
  choice.replaceChildren(...indexes.map(({ name }) => new Option(name, name, false, name === INDEX)));
  choice.addEventListener("change", () => {
    location.href = `/?index=${encodeURIComponent(choice.value)}`;
  });
}
