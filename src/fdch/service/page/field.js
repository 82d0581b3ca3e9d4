// The field of the search: its words, beside the picture or the item searched with.

import { onlyItem } from "/static/address.js";
import { build, find } from "/static/build.js";
import { params, clear, dropPicture, picture } from "/static/query.js";
import * as service from "/static/service.js";

let drawn = ""; // what the field stood for when it was drawn last

export function draw() {
  const field = find("words");
  const now = JSON.stringify([params.text, params.like, params.picture]);
  if (now !== drawn) field.value = params.text; // else what is typed meanwhile stays
  drawn = now;
  const holder = find("query-picture");
  const item = onlyItem(params);
  const shown = picture && params.picture ? pictureFace() : item ? likeFace(item) : null;
  holder.hidden = !shown;
  holder.replaceChildren(...(shown ? [shown, build("button", {
    type: "button", class: "cross", "aria-label": item ? "Stop looking for items like this" : "Remove the picture",
    onclick: item ? clear : dropPicture,
  }, "×")] : []));
  const short = matchMedia("(max-width: 34rem)").matches;
  const prompt = short ? "Search with words" : "Describe what you are looking for";
  field.placeholder = !shown ? prompt : item ? "Or type words instead" : "Add words";
}

function pictureFace() {
  const image = build("img", { src: picture.address ?? "", alt: "The picture searched with" });
  image.addEventListener("error", () => image.replaceWith(build("span", { class: "name" }, "Picture")));
  return image;
}

function likeFace(id) {
  const image = build("img", { alt: `Like ${id}` });
  image.addEventListener("error", () => image.replaceWith(build("span", { class: "name" }, id)));
  service.show(image, service.thumbnail(id, 96));
  return image;
}
