// The button that changes between light and dark colours.

import { find } from "/static/build.js";

export function listen() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const page = document.documentElement;
  const isDark = () => (page.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
  const name = () => { find("theme-name").textContent = isDark() ? "Use light colours" : "Use dark colours"; };
  find("theme").addEventListener("click", () => {
    page.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("theme", page.dataset.theme); } catch { /* for this visit only */ }
    name();
  });
  dark.addEventListener("change", name);
  name();
}
