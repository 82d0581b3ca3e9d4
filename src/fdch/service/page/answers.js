// The view of a search: waiting, what was found, or why there is nothing.

import * as address from "/static/address.js";
import { build, find } from "/static/build.js";
import * as results from "/static/results.js";
import * as states from "/static/states.js";
import * as words from "/static/words.js";

export function heading(asked) {
  const text = `“${words.short(asked.text)}”`;
  if (asked.picture) return asked.text ? `Your picture and ${text}` : "Like your picture";
  if (asked.text) return text;
  return asked.like.length > 1 ? "More like these" : "More like this";
}

export function wait(asked) {
  find("heading").textContent = heading(asked);
  find("summary").textContent = "Searching…";
  say("Searching");
  find("notes").replaceChildren();
  const grid = find("grid");
  if (!grid.children.length) grid.replaceChildren(...results.skeletons(8));
}

// from: how many of the results are on show already
// actions: open(id), like(id), mark(result, way), markOf(id), label(name), least(share), where(conditions), more(), clear()
export function show(asked, index, reply, best, from, actions) {
  const count = reply.results.length;
  find("heading").textContent = heading(asked);
  find("summary").textContent = count ? summary(asked, index, reply) : "";
  const cards = results.cards(reply.results.slice(from), index.bits, {
    ...actions, address: (id) => address.write({ ...asked, item: id }),
  });
  if (from) find("grid").append(...cards);
  else find("grid").replaceChildren(...cards);
  const isFull = count === asked.k && count < Math.min(reply.facets?.items ?? index.items, address.MOST);
  find("more").replaceChildren(...(isFull ? [states.button("Show more", actions.more, "main")] : []));
  find("notes").replaceChildren(...[...notes(reply), ...(count ? [] : [states.nothing(asked, best, actions)])]);
  say(count ? `${words.counted(count, "result")} for ${heading(asked)}` : "Nothing was found");
}

export function showState(title, shown) {
  find("heading").textContent = title;
  find("summary").textContent = "";
  find("grid").replaceChildren();
  find("more").replaceChildren();
  find("notes").replaceChildren(shown);
}

// Puts the focus on a result that is still to come.
export function focusWhenThere(place) {
  const watch = new MutationObserver(() => {
    const link = find("grid").querySelectorAll("a.open")[place];
    if (!link) return;
    watch.disconnect();
    link.focus({ preventScroll: true });
  });
  watch.observe(find("grid"), { childList: true });
}

export function say(text) {
  find("status").textContent = text;
}

function summary(asked, index, reply) {
  const count = reply.results.length;
  const some = asked.sort ? `The first ${words.number(count)}` : `The ${words.number(count)} nearest`;
  const many = count === asked.k ? some : words.counted(count, "result");
  const items = reply.facets?.items ?? index.items;
  const filtered = items < index.items ? " under the filters" : "";
  return `${many} of ${words.counted(items, "item")}${filtered} · ${Math.max(1, Math.round(reply.milliseconds))} ms`;
}

function notes(reply) {
  const matched = new Set(reply.results.flatMap((result) => result.matched ?? []).map((match) => match.word));
  const readAs = Object.entries(reply.query?.read_as ?? {}).map(([word, known]) => `“${word}” as “${known}”`);
  const unknown = (reply.query?.unknown_words ?? []).filter((word) => !matched.has(word)).map((word) => `“${word}”`);
  const listed = (start, named) => (named.length ? [`${start} ${words.short(named.join(", "), 400)}.`] : []);
  const told = [...listed("Read", readAs), ...listed("Not known here and left out:", unknown), ...(reply.notes ?? []).map(words.sentence)];
  return told.map((text) => build("p", { class: "note", dir: "auto" }, text));
}
