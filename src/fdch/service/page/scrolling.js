// How far down the page someone is, kept with each entry of the browser's history:
// results come late, so that the browser itself would look for the place too early.

const PAUSE_MS = 100;
let wanted = null; // where to scroll once the view is drawn
let timer = 0;

export function listen() {
  history.scrollRestoration = "manual";
  wanted = history.state?.top ?? null;
  window.addEventListener("scroll", () => {
    clearTimeout(timer);
    timer = setTimeout(keep, PAUSE_MS);
  }, { passive: true });
  window.addEventListener("pagehide", keep);
  window.addEventListener("popstate", () => {
    clearTimeout(timer);
    wanted = history.state?.top ?? 0;
  });
}

// To be called before the query changes.
export function keep() {
  clearTimeout(timer);
  if (wanted === null) history.replaceState({ ...history.state, top: Math.round(window.scrollY) }, "");
}

export function wantTop() {
  wanted = 0;
}

// To be called when the view is drawn.
export function restore() {
  if (wanted === null) return;
  window.scrollTo({ top: wanted, behavior: "instant" });
  wanted = null;
}
