// The query as the page's address: anything in it can be shared.

export const PAGE = 24;
export const MOST = 1000;
// of several indexes the one on show; another one is another page
export const INDEX = new URLSearchParams(location.search).get("index") ?? "";

export function empty() {
  return { view: "search", text: "", like: [], unlike: [], picture: false, where: [], least: 0, onlyWords: false, grouped: false, sort: "", k: PAGE, item: "" };
}

export function read(search) {
  const given = new URLSearchParams(search);
  const k = Number.parseInt(given.get("k") ?? "", 10);
  const least = Number.parseFloat(given.get("min") ?? "");
  return {
    view: given.get("view") === "index" ? "index" : "search",
    text: given.get("q") ?? "",
    like: given.getAll("like").filter(Boolean),
    unlike: given.getAll("unlike").filter(Boolean),
    picture: given.has("picture"),
    where: given.getAll("where").filter(Boolean),
    least: least >= 0 && least <= 1 ? least : 0,
    onlyWords: given.get("match") === "words",
    grouped: given.has("grouped"),
    sort: given.get("sort") ?? "",
    k: k >= 1 && k <= MOST ? k : PAGE,
    item: given.get("item") ?? "",
  };
}

export function write(params) {
  const given = new URLSearchParams();
  if (INDEX) given.set("index", INDEX);
  if (params.view === "index") given.set("view", "index");
  if (params.text) given.set("q", params.text);
  for (const id of params.like) given.append("like", id);
  for (const id of params.unlike) given.append("unlike", id);
  if (params.picture) given.set("picture", "");
  for (const condition of params.where) given.append("where", condition);
  if (params.least > 0) given.set("min", String(params.least));
  if (params.onlyWords) given.set("match", "words");
  if (params.grouped) given.set("grouped", "");
  if (params.sort) given.set("sort", params.sort);
  if (params.k !== PAGE) given.set("k", String(params.k));
  if (params.item) given.set("item", params.item);
  const written = given.toString();
  return written ? `/?${written}` : "/";
}

export function hasQuery(params) {
  return Boolean(params.text.trim() || params.like.length || params.picture);
}

// The one item that is searched with alone, or nothing.
export function onlyItem(params) {
  const isAlone = params.like.length === 1 && !params.text && !params.picture && !params.unlike.length;
  return isAlone ? params.like[0] : "";
}

// Two addresses with the same query differ in how much they show of its results.
export function queryOf(params) {
  return write({ ...params, k: PAGE, item: "", view: "search" });
}

// Two addresses that differ in this alone show the same results.
export function withoutItem(params) {
  return write({ ...params, item: "", view: "search" });
}

const AVOIDED = /(?<!\S)-([\p{L}\p{N}_]\S*)/gu;

// A word with a hyphen before it is one to avoid, unless it stands in double quotes.
export function partsOf(params) {
  const avoid = [...params.text.matchAll(AVOIDED)].map((found) => found[1]);
  const text = avoid.length ? params.text.replaceAll(AVOIDED, "").split(/\s+/).filter(Boolean).join(" ") : params.text;
  const parts = { like: params.like, unlike: params.unlike, avoid };
  return text ? { text, ...parts } : parts;
}

// Whether items can be found by words alone.
export function canMatch(params, index) {
  return Boolean(index.has_words && partsOf(params).text);
}

// Nobody knows how probable results of several parts are.
export function areSeveral(params) {
  const { text, like, unlike, avoid } = partsOf(params);
  return (text ? 1 : 0) + (params.picture ? 1 : 0) + like.length + unlike.length + avoid.length > 1;
}
