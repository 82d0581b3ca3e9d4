// One item of the results, or of a link, in its dialog.

import * as asking from "/static/asking.js";
import { find } from "/static/build.js";
import * as details from "/static/details.js";
import * as known from "/static/known.js";
import * as marking from "/static/marking.js";
import * as service from "/static/service.js";

let leaving = ""; // the item whose dialog is being closed

export async function draw() {
  const wanted = asking.asked.item;
  if (!wanted) {
    details.shut();
    focusCard(leaving);
    leaving = "";
    return;
  }
  const list = known.found?.reply.results ?? [];
  const at = list.findIndex((result) => result.id === wanted);
  let item = list[at];
  try {
    item ??= await service.item(wanted);
  } catch {
    asking.go({ item: "" }, { replace: true });
    return;
  }
  if (asking.asked.item !== wanted) return;
  details.open(item, known.index?.bits, at < 0 ? null : { at, of: list.length }, {
    like: asking.like, label: asking.addLabel, mark: marking.mark, markOf: marking.markOf,
    close: () => close(wanted),
    step: (by) => list[at + by] && asking.go({ item: list[at + by].id }, { replace: true }),
  });
}

// An item that was opened here is closed by going back; one from a link has no way back.
function close(id) {
  leaving = id;
  if (history.state?.opened) history.back();
  else asking.go({ item: "" }, { replace: true });
}

function focusCard(id) {
  const cards = [...find("grid").children];
  cards.find((card) => id && card.dataset.id === id)?.querySelector("a.open")?.focus();
}
