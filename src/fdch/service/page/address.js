// The query as the page's address: anything in it can be shared.

export const PAGE = 24;
export const MOST = 1000;
// of several indexes the one on show; another one is another page
export const INDEX = new URLSearchParams(location.search).get("index") ?? "";

export function empty() {
  return { view: "search", text: "", like: [], unlike: [], picture: false, where: [], least: 0, sort: "", k: PAGE, item: "" };
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
    sort: given.get("sort") ?? "",
    k: k >= 1 && k <= MOST ? k : PAGE,
    item: given.get("item") ?? "",
  };
}

export function write(asked) {
  const given = new URLSearchParams();
  if (INDEX) given.set("index", INDEX);
  if (asked.view === "index") given.set("view", "index");
  if (asked.text) given.set("q", asked.text);
  for (const id of asked.like) given.append("like", id);
  for (const id of asked.unlike) given.append("unlike", id);
  if (asked.picture) given.set("picture", "");
  for (const condition of asked.where) given.append("where", condition);
  if (asked.least > 0) given.set("min", String(asked.least));
  if (asked.sort) given.set("sort", asked.sort);
  if (asked.k !== PAGE) given.set("k", String(asked.k));
  if (asked.item) given.set("item", asked.item);
  const written = given.toString();
  return written ? `/?${written}` : "/";
}

export function hasQuery(asked) {
  return Boolean(asked.text.trim() || asked.like.length || asked.picture);
}

// The one item that is searched with alone, or nothing.
export function onlyItem(asked) {
  const isAlone = asked.like.length === 1 && !asked.text && !asked.picture && !asked.unlike.length;
  return isAlone ? asked.like[0] : "";
}

// Two addresses with the same query differ in how much they show of its results.
export function queryOf(asked) {
  return write({ ...asked, k: PAGE, item: "", view: "search" });
}

// Two addresses that differ in this alone show the same results.
export function withoutItem(asked) {
  return write({ ...asked, item: "", view: "search" });
}

const AVOIDED = /(?<!\S)-([\p{L}\p{N}_]\S*)/gu;

// A word with a hyphen before it is one to avoid, unless it stands in double quotes.
export function partsOf(asked) {
  const avoid = [...asked.text.matchAll(AVOIDED)].map((found) => found[1]);
  const text = avoid.length ? asked.text.replaceAll(AVOIDED, "").split(/\s+/).filter(Boolean).join(" ") : asked.text;
  const parts = { like: asked.like, unlike: asked.unlike, avoid };
  return text ? { text, ...parts } : parts;
}

// Nobody knows how probable results of several parts are.
export function areSeveral(asked) {
  const { text, like, unlike, avoid } = partsOf(asked);
  return (text ? 1 : 0) + (asked.picture ? 1 : 0) + like.length + unlike.length + avoid.length > 1;
}
