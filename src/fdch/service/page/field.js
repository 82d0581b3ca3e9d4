// The field of the search: its words, or the face of what is searched with instead.

import { asked, clear, lastChange, picture } from "/static/asking.js";
import { build, find } from "/static/build.js";
import * as service from "/static/service.js";

export function draw() {
  const field = find("words");
  if (document.activeElement !== field || lastChange !== "least") field.value = asked.text;
  const holder = find("asked-picture");
  const shown = picture && asked.picture
    ? build("img", { src: picture.address ?? "", alt: "The picture searched with" })
    : asked.like ? likeFace() : null;
  holder.hidden = !shown;
  holder.replaceChildren(...(shown ? [shown, build("button", {
    type: "button", class: "cross", "aria-label": asked.like ? "Stop looking for items like this" : "Remove the picture", onclick: clear,
  }, "×")] : []));
  field.placeholder = shown ? "Or type words instead" : "Describe what you are looking for";
}

function likeFace() {
  const image = build("img", { alt: `Like ${asked.like}` });
  image.addEventListener("error", () => image.replaceWith(build("span", { class: "name" }, asked.like)));
  service.show(image, service.thumbnail(asked.like, 96));
  return image;
}
