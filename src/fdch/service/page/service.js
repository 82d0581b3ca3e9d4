// Calls to the service. Every failure is a Problem with words for people.

const TOKEN = "fdch-token";
let token = "";
try { token = sessionStorage.getItem(TOKEN) ?? ""; } catch { /* storage may be off */ }

export class Problem extends Error {
  constructor(code, message, { hint = "", status = 0, suggestions = [], wait = 0 } = {}) {
    super(message);
    Object.assign(this, { code, hint, status, suggestions, wait });
  }
}

export function setToken(given) {
  token = given;
  try { sessionStorage.setItem(TOKEN, given); } catch { /* kept until the page is left */ }
}

export function hasToken() {
  return token !== "";
}

export function searchText(text, options, signal) {
  return call("/v1/search", json({ text, ...options }), signal);
}

export function searchLike(id, options, signal) {
  return call("/v1/search", json({ id, ...options }), signal);
}

export function searchPicture(picture, options, signal) {
  const form = new FormData();
  form.append("image", picture, "picture");
  for (const [name, value] of Object.entries(options)) {
    for (const each of Array.isArray(value) ? value : [value]) form.append(name, String(each));
  }
  return call("/v1/search/image", { method: "POST", body: form }, signal);
}

export function item(id, signal) {
  return call(`/v1/items/${encodeURIComponent(id)}`, {}, signal);
}

export function index(signal) {
  return call("/v1/index", {}, signal);
}

export function overview(signal) {
  return call("/v1/overview", {}, signal);
}

export function thumbnail(id, size) {
  return `/v1/items/${encodeURIComponent(id)}/thumbnail?size=${size}`;
}

export function picture(id) {
  return `/v1/items/${encodeURIComponent(id)}/picture`;
}

// Pictures are asked for by the browser itself, unless a token has to go along.
export function show(image, address) {
  if (!token) {
    image.src = address;
    return;
  }
  fetch(address, { headers: { Authorization: `Bearer ${token}` } })
    .then((reply) => (reply.ok ? reply.blob() : Promise.reject(new Error("no picture"))))
    .then((blob) => {
      const made = URL.createObjectURL(blob);
      image.addEventListener("load", () => URL.revokeObjectURL(made), { once: true });
      image.src = made;
    })
    .catch(() => image.dispatchEvent(new Event("error")));
}

function json(content) {
  return {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(content),
  };
}

async function call(address, request, signal) {
  const headers = { ...request.headers };
  if (token) headers.Authorization = `Bearer ${token}`;
  let reply;
  try {
    reply = await fetch(address, { ...request, headers, signal });
  } catch (problem) {
    if (problem.name === "AbortError") throw problem;
    throw new Problem("away", "The search service does not answer.");
  }
  const content = await reply.json().catch(() => null);
  if (reply.ok && content !== null) return content;
  throw told(reply, content);
}

function told(reply, content) {
  const error = content?.error ?? {};
  const message = error.message ?? `The service answered with status ${reply.status}.`;
  return new Problem(error.code ?? "unknown", sentence(message), {
    hint: error.hint ? sentence(error.hint) : "",
    status: reply.status,
    suggestions: error.suggestions ?? suggested(message),
    wait: Number(reply.headers.get("Retry-After")) || 0,
  });
}

function suggested(message) {
  const listed = /(?:Near ones are|Some that it knows are): (.*)\.$/s.exec(message);
  return listed ? listed[1].split(", ") : [];
}

function sentence(text) {
  const trimmed = text.trim();
  return trimmed.charAt(0).toUpperCase() + trimmed.slice(1);
}
