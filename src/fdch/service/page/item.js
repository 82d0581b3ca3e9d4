// One item of the results, or of a link, in its dialog.

import { find } from "/static/build.js";
import * as details from "/static/details.js";
import * as feedback from "/static/feedback.js";
import * as loaded from "/static/loaded.js";
import * as query from "/static/query.js";
import * as service from "/static/service.js";

let leaving = ""; // the item whose dialog is being closed

export async function draw() {
  const wanted = query.params.item;
  if (!wanted) {
    details.shut();
    focusCard(leaving);
    leaving = "";
    return;
  }
  const list = loaded.found?.reply.results ?? [];
  const at = list.findIndex((result) => result.id === wanted);
  let item = list[at];
  try {
    item ??= await service.item(wanted);
  } catch {
    query.go({ item: "" }, { replace: true });
    return;
  }
  if (query.params.item !== wanted) return;
  details.open(item, loaded.index?.bits, at < 0 ? null : { at, of: list.length }, {
    like: query.like, label: query.addLabel, mark: feedback.mark, markOf: feedback.markOf,
    close: () => close(wanted),
    step: (by) => list[at + by] && query.go({ item: list[at + by].id }, { replace: true }),
  });
}

// An item that was opened here is closed by going back; one from a link has no way back.
function close(id) {
  leaving = id;
  if (history.state?.opened) history.back();
  else query.go({ item: "" }, { replace: true });
}

function focusCard(id) {
  const cards = [...find("grid").children];
  cards.find((card) => id && card.dataset.id === id)?.querySelector("a.open")?.focus();
}
