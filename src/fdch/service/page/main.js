// The page: draws what its address asks for, and listens to whoever uses it.

import * as address from "/static/address.js";
import * as asking from "/static/asking.js";
import { find } from "/static/build.js";
import * as colours from "/static/colours.js";
import * as details from "/static/details.js";
import * as field from "/static/field.js";
import * as keys from "/static/keys.js";
import * as pictures from "/static/picture.js";
import * as searching from "/static/searching.js";
import * as trouble from "/static/trouble.js";
import * as views from "/static/views.js";

function draw() {
  const { asked } = asking;
  const isSearch = asked.view === "search";
  const hasQuery = address.hasQuery(asked);
  find("search-view").hidden = !isSearch || !hasQuery;
  find("start-view").hidden = !isSearch || hasQuery;
  find("index-view").hidden = isSearch;
  for (const link of document.querySelectorAll(".views a")) {
    if (link.dataset.view === asked.view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  field.draw();
  trouble.stopWaiting();
  searching.stop(); // whatever is under way was asked for before
  if (!isSearch) views.drawIndex();
  else if (hasQuery) searching.draw();
  else views.drawStart();
  document.title = titleOf(asked);
}

function titleOf(asked) {
  if (asked.view === "index") return "The index · fdch";
  if (asked.text) return `${asked.text} · fdch`;
  if (asked.like.length) return `Like ${asked.like.join(", ")} · fdch`;
  return asked.picture ? "Like a picture · fdch" : "Search · fdch";
}

function listenToLinks() {
  for (const link of document.querySelectorAll("a[data-view]")) {
    link.addEventListener("click", (event) => {
      if (event.metaKey || event.ctrlKey || event.shiftKey) return;
      event.preventDefault();
      if (link.classList.contains("brand")) asking.go(address.empty());
      else asking.go({ view: link.dataset.view, item: "" });
    });
  }
}

find("search").addEventListener("submit", (event) => {
  event.preventDefault();
  asking.ask(find("words").value);
});
find("side-fold").open = matchMedia("(min-width: 56rem)").matches;
listenToLinks();
pictures.listen((file) => asking.take(file, trouble.refuse));
details.listen();
keys.listen(() => { if (address.hasQuery(asking.asked)) asking.clear(); });
colours.listen();
asking.listen(draw);
asking.read();
draw();
if (asking.asked.view === "search" && !address.hasQuery(asking.asked)) find("words").focus();
