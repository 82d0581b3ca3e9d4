// Which columns the cards show: chosen by the visitor, kept by the browser.

import { INDEX } from "/static/address.js";
import { build, find } from "/static/build.js";
import * as words from "/static/words.js";

const KEPT = `fdch-columns ${INDEX}`;
const LINK = /^https?:\/\/\S+$/i;
const menu = find("show-columns");
let chosen = read();

menu.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !menu.open) return;
  event.preventDefault();
  menu.open = false;
  menu.querySelector("summary").focus();
});
document.addEventListener("click", (event) => { if (!menu.contains(event.target)) menu.open = false; });

function read() {
  try {
    const kept = JSON.parse(localStorage.getItem(KEPT) ?? "[]");
    return Array.isArray(kept) ? kept.filter((each) => typeof each === "string") : [];
  } catch {
    return [];
  }
}

// A cell as people read it; addresses of the web can be followed.
export function cell(value) {
  const text = words.value(value);
  if (!LINK.test(String(value))) return build("span", { dir: "auto" }, text);
  return build("a", { href: String(value), target: "_blank", rel: "noreferrer noopener" }, String(value).replace(/^https?:\/\//i, ""));
}

// The chosen columns of an item, for its card.
export function cells(item) {
  const rows = chosen.filter((name) => (item.columns?.[name] ?? null) !== null);
  return build("dl", { class: "cells", hidden: !rows.length }, rows.map((name) => build("div", {},
    build("dt", { dir: "auto" }, words.column(name)), build("dd", {}, cell(item.columns[name])))));
}

// changed() draws the cells of all cards again.
export function draw(index, changed) {
  const names = (index.columns ?? []).map(({ name }) => name);
  menu.hidden = !names.length;
  menu.lastElementChild.replaceChildren(...names.map((name) => {
    const box = build("input", { type: "checkbox", name, checked: chosen.includes(name) });
    box.addEventListener("change", () => {
      chosen = box.checked ? [...chosen, name] : chosen.filter((each) => each !== name);
      try { localStorage.setItem(KEPT, JSON.stringify(chosen)); } catch { /* for this visit only */ }
      changed();
    });
    return build("label", {}, box, " ", build("span", { dir: "auto" }, words.short(words.column(name), 60)));
  }));
}
