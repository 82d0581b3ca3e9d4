// The choice between several indexes; hidden where there is only one.

import { INDEX } from "/static/address.js";
import { find } from "/static/build.js";
import * as service from "/static/service.js";

let isDrawn = false;

export async function draw() {
  if (isDrawn) return;
  isDrawn = true;
  const { indexes } = await service.indexes().catch(() => ({ indexes: [] }));
  const choice = find("indexes");
  choice.hidden = indexes.length < 2;
  choice.replaceChildren(...indexes.map(({ name }) => new Option(name, name, false, name === INDEX)));
  choice.addEventListener("change", () => {
    location.href = `/?index=${encodeURIComponent(choice.value)}`;
  });
}
