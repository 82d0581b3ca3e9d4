// The page by keyboard: "/" to type, arrows among results, Escape to go back.

import { find } from "/static/build.js";
import { moveFocus } from "/static/results.js";

// leave() is called by Escape in an empty field.
export function listen(leave) {
  document.addEventListener("keydown", (event) => {
    if (find("details").open || event.defaultPrevented) return;
    const field = find("words");
    const isTyping = event.target.matches("input:not([type=range]), textarea");
    if (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      field.focus();
      field.select();
    } else if (event.key === "Escape" && event.target === field) {
      event.preventDefault();
      if (field.value === "") leave();
      field.value = "";
    } else if (event.key === "Escape") {
      field.focus();
    } else {
      moveFocus(event);
    }
  });
}
