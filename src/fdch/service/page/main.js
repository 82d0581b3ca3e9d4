// The page: draws the view of its address, and listens to the user.

import * as address from "/static/address.js";
import { find } from "/static/build.js";
import * as colours from "/static/colours.js";
import * as details from "/static/details.js";
import * as errors from "/static/errors.js";
import * as field from "/static/field.js";
import * as keys from "/static/keys.js";
import * as pictures from "/static/picture.js";
import * as query from "/static/query.js";
import * as searching from "/static/searching.js";
import * as views from "/static/views.js";

function draw() {
  const { params } = query;
  const isSearch = params.view === "search";
  const hasQuery = address.hasQuery(params);
  find("search-view").hidden = !isSearch || !hasQuery;
  find("start-view").hidden = !isSearch || hasQuery;
  find("index-view").hidden = isSearch;
  for (const link of document.querySelectorAll(".views a")) {
    if (link.dataset.view === params.view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  field.draw();
  errors.stopWaiting();
  searching.stop(); // drop the search before this one
  if (!isSearch) views.drawIndex();
  else if (hasQuery) searching.draw();
  else views.drawStart();
  document.title = titleOf(params);
}

function titleOf(params) {
  if (params.view === "index") return "The index · fdch";
  if (params.text) return `${params.text} · fdch`;
  if (params.like.length) return `Like ${params.like.join(", ")} · fdch`;
  return params.picture ? "Like a picture · fdch" : "Search · fdch";
}

function listenToLinks() {
  for (const link of document.querySelectorAll("a[data-view]")) {
    link.addEventListener("click", (event) => {
      if (event.metaKey || event.ctrlKey || event.shiftKey) return;
      event.preventDefault();
      if (link.classList.contains("brand")) query.go(address.empty());
      else query.go({ view: link.dataset.view, item: "" });
    });
  }
}

find("search").addEventListener("submit", (event) => {
  event.preventDefault();
  query.submit(find("words").value);
});
find("side-fold").open = matchMedia("(min-width: 56rem)").matches;
listenToLinks();
pictures.listen((file) => query.take(file, errors.refuse));
details.listen();
keys.listen(() => { if (address.hasQuery(query.params)) query.clear(); });
colours.listen();
query.listen(draw);
query.read();
draw();
if (query.params.view === "search" && !address.hasQuery(query.params)) find("words").focus();
