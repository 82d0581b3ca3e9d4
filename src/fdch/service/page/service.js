// Calls to the service. Every failure is a Problem with words for people.

import { INDEX } from "/static/address.js";
import * as thumbnails from "/static/thumbnails.js";
import * as words from "/static/words.js";

const BASE = INDEX ? `/v1/indexes/${encodeURIComponent(INDEX)}` : "/v1";
const TOKEN = "fdch-token";
const LETTERS = /^[A-Za-z0-9._~+/=-]{1,512}$/; // others cannot be sent, and no token has them
const GATEWAY = [502, 503, 504]; // of a proxy, which speaks no JSON, when nobody is behind it
let token = "";
try { setToken(sessionStorage.getItem(TOKEN) ?? ""); } catch { /* storage may be off */ }

export class Problem extends Error {
  constructor(code, message, { hint = "", status = 0, suggestions = [], wait = 0 } = {}) {
    super(message);
    Object.assign(this, { code, hint, status, suggestions, wait });
  }
}

export function isToken(given) {
  return LETTERS.test(given);
}

export function setToken(given) {
  token = isToken(given) ? given : "";
  try { sessionStorage.setItem(TOKEN, token); } catch { /* kept until the page is left */ }
}

export function hasToken() {
  return token !== "";
}

// params: the parts of the query, and how to search
export function search(params, signal) {
  return call(`${BASE}/search`, json(params), signal);
}

export function searchPicture(picture, params, signal) {
  const form = new FormData();
  form.append("image", picture, "picture");
  for (const [name, value] of Object.entries(params)) {
    for (const each of Array.isArray(value) ? value : [value]) form.append(name, String(each));
  }
  return call(`${BASE}/search/image`, { method: "POST", body: form }, signal);
}

export function item(id, signal) {
  return call(`${BASE}/items/${encodeURIComponent(id)}`, {}, signal);
}

// Writes an item; needs a write token.
export function put(id, item, picture) {
  const form = new FormData();
  form.append("item", JSON.stringify(item));
  if (picture) form.append("image", picture, picture.name);
  const sent = picture ? { method: "PUT", body: form } : { ...json(item), method: "PUT" };
  return call(`${BASE}/items/${encodeURIComponent(id)}`, sent);
}

export function index(signal) {
  return call(`${BASE}/index`, {}, signal);
}

export function indexes(signal) {
  return call("/v1/indexes", {}, signal);
}

export function overview(signal) {
  return call(`${BASE}/overview`, {}, signal);
}

export function thumbnail(id, size) {
  return `${BASE}/items/${encodeURIComponent(id)}/thumbnail?size=${size}`;
}

export function picture(id) {
  return `${BASE}/items/${encodeURIComponent(id)}/picture`;
}

// The browser loads pictures itself, unless a token has to go along.
export function show(image, address) {
  if (!token) {
    image.src = address;
    return;
  }
  thumbnails.show(image, address, (each) => fetch(each, { headers: headers() }));
}

// Opens a picture in a tab of its own, which cannot send a token: so it is given the
// content. Gives whether that could be done.
export async function openPicture(id) {
  const tab = window.open("", "_blank"); // at once: later it would be taken for a nuisance
  if (!tab) return false;
  try {
    const reply = await fetch(picture(id), { headers: headers() });
    if (!reply.ok) throw new Error("no picture");
    tab.location.replace(URL.createObjectURL(await reply.blob()));
    return true;
  } catch {
    tab.close();
    return false;
  }
}

function headers(more = {}) {
  return new Headers(token ? { ...more, Authorization: `Bearer ${token}` } : more);
}

function json(content) {
  return {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(content),
  };
}

async function call(address, request, signal) {
  const sent = { ...request, headers: headers(request.headers), signal };
  let reply;
  try {
    reply = await fetch(address, sent);
  } catch (problem) {
    if (problem.name === "AbortError") throw problem;
    throw new Problem("away", "The search service does not answer.");
  }
  const content = await reply.json().catch(() => null);
  if (reply.ok && content !== null) return content;
  throw problemOf(reply, content);
}

function problemOf(reply, content) {
  const error = content?.error ?? {};
  const message = error.message ?? `The service answered with status ${reply.status}.`;
  const code = error.code ?? (GATEWAY.includes(reply.status) ? "away" : "unknown");
  return new Problem(code, words.sentence(message), {
    hint: error.hint ? words.sentence(error.hint) : "",
    status: reply.status,
    suggestions: error.suggestions ?? suggested(message),
    wait: Number(reply.headers.get("Retry-After")) || 0,
  });
}

function suggested(message) {
  const listed = /(?:Near ones are|Some that it knows are): (.*)\.$/s.exec(message);
  return listed ? listed[1].split(", ") : [];
}
