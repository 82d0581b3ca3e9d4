// The view of a search: waiting, what was found, or why there is nothing.

import * as address from "/static/address.js";
import { build, find } from "/static/build.js";
import * as results from "/static/results.js";
import * as states from "/static/states.js";
import * as words from "/static/words.js";

export function heading(params) {
  const text = `“${words.short(params.text)}”`;
  if (params.picture) return params.text ? `Your picture and ${text}` : "Like your picture";
  if (params.text) return text;
  return params.like.length > 1 ? "More like these" : "More like this";
}

export function wait(params) {
  find("heading").textContent = heading(params);
  find("summary").textContent = "Searching…";
  say("Searching");
  find("notes").replaceChildren();
  const grid = find("grid");
  if (!grid.children.length) grid.replaceChildren(...results.skeletons(8));
}

// from: how many of the results are on show already
// actions: open(id), like(id), similar(id), mark(result, way), markOf(id), label(name), least(share), where(conditions), onlyWords(isSo), more(), clear()
export function show(params, index, reply, best, from, actions) {
  const count = reply.results.length;
  find("heading").textContent = heading(params);
  find("summary").textContent = count ? summary(params, index, reply) : "";
  const cards = results.cards(reply.results.slice(from), index.bits, {
    ...actions, address: (id) => address.write({ ...params, item: id }),
  });
  if (from) find("grid").append(...cards);
  else find("grid").replaceChildren(...cards);
  const isFull = count === params.k && count < Math.min(reply.facets?.items ?? index.items, address.MOST);
  find("more").replaceChildren(...(isFull ? [states.button("Show more", actions.more, "main")] : []));
  find("notes").replaceChildren(...[...notes(reply), ...(count ? [] : [states.nothing(params, best, actions)])]);
  say(count ? `${words.counted(count, "result")} for ${heading(params)}` : "Nothing was found");
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

function summary(params, index, reply) {
  const count = reply.results.length;
  const some = params.sort ? `The first ${words.number(count)}` : `The ${words.number(count)} nearest`;
  const many = count === params.k ? some : words.counted(count, "result");
  const items = reply.facets?.items ?? index.items;
  const isMatched = reply.query?.match === "words";
  const matched = isMatched ? " with these words" : "";
  const filtered = params.where.length && items < index.items ? " under the filters" : "";
  return `${many} of ${words.counted(items, "item")}${matched}${filtered} · ${Math.max(1, Math.round(reply.milliseconds))} ms`;
}

function notes(reply) {
  const readAs = Object.entries(reply.query?.read_as ?? {}).map(([word, known]) => `“${word}” as “${known}”`);
  const unknown = (reply.query?.unknown_words ?? []).map((word) => `“${word}”`);
  const listed = (start, named) => (named.length ? [`${start} ${words.short(named.join(", "), 400)}.`] : []);
  const lines = [...listed("Read", readAs), ...listed("Not known here:", unknown), ...(reply.notes ?? []).map(words.sentence)];
  return lines.map((text) => build("p", { class: "note", dir: "auto" }, text));
}
