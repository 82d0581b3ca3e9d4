// The field of the search: its words, or the face of what is searched with instead.

import { asked, clear, picture } from "/static/asking.js";
import { build, find } from "/static/build.js";
import * as service from "/static/service.js";

let drawn = ""; // what the field stood for when it was drawn last

export function draw() {
  const field = find("words");
  const now = JSON.stringify([asked.text, asked.like, asked.picture]);
  if (now !== drawn) field.value = asked.text; // else what is typed meanwhile stays
  drawn = now;
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
