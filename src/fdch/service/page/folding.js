// Long texts: their first lines, and a button for the rest where there is more.

import { build } from "/static/build.js";

// Gives the element with its button, to be put beside each other.
export function fold(element, lines) {
  element.classList.add("folded");
  element.style.setProperty("--lines", lines);
  const more = build("button", { type: "button", class: "plain fold", "aria-expanded": "false", hidden: true }, "Show all of it");
  more.addEventListener("click", () => {
    const isOpen = element.classList.toggle("folded") === false;
    more.setAttribute("aria-expanded", String(isOpen));
    more.textContent = isOpen ? "Show less" : "Show all of it";
  });
  return [element, more];
}

// To be called once they are on show: only then is it known what is cut off.
export function measure(within) {
  for (const element of within.querySelectorAll(".folded")) {
    element.nextElementSibling.hidden = element.scrollHeight <= element.clientHeight + 1;
  }
}
