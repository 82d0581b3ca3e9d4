// A picture to search with: chosen, dropped or pasted, and made small enough to send.

import { find } from "/static/build.js";
import { Problem } from "/static/service.js";

const SMALL = 512 * 1024;
const SIDE = 1024;

// Large photos are made smaller here: they are sent faster, and none is too large.
export async function prepare(file) {
  if (file.type && !file.type.startsWith("image/")) {
    throw new Problem("not_a_picture", `“${file.name}” is not a picture.`, {
      hint: "Use a JPEG, PNG, WebP or GIF file.",
    });
  }
  if (file.size <= SMALL) return file;
  let bitmap;
  try {
    bitmap = await createImageBitmap(file);
  } catch {
    return file; // the service may know a format that the browser does not
  }
  const scale = Math.min(1, SIDE / Math.max(bitmap.width, bitmap.height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(scale * bitmap.width));
  canvas.height = Math.max(1, Math.round(scale * bitmap.height));
  const context = canvas.getContext("2d");
  context.fillStyle = "white";
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  bitmap.close();
  return new Promise((done) => canvas.toBlob((made) => done(made ?? file), "image/jpeg", 0.9));
}

// The address that keeps a picture in the browser's history, for going back to it.
export function toAddress(picture) {
  return new Promise((done) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => done(reader.result));
    reader.addEventListener("error", () => done(null));
    reader.readAsDataURL(picture);
  });
}

export function fromAddress(address) {
  const [head, content] = address.split(",", 2);
  const bytes = Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0));
  return new Blob([bytes], { type: /^data:([^;,]*)/.exec(head)?.[1] ?? "" });
}

export function listen(take) {
  const input = find("file");
  find("choose").addEventListener("click", () => input.click());
  input.addEventListener("change", () => {
    if (input.files[0]) take(input.files[0]);
    input.value = "";
  });
  document.addEventListener("paste", (event) => {
    const file = pictureIn(event.clipboardData);
    // spreadsheets copy a picture beside the text that is meant
    const isText = event.target === find("words") && event.clipboardData.types.includes("text/plain");
    if (!file || isText) return;
    event.preventDefault();
    take(file);
  });
  listenToDrops(take);
}

function listenToDrops(take) {
  const veil = find("drop");
  let isOurs = false; // a picture of this very page is being dragged
  let depth = 0;
  const leave = () => { depth = 0; veil.hidden = true; };
  document.addEventListener("dragstart", () => { isOurs = true; });
  document.addEventListener("dragend", () => { isOurs = false; leave(); });
  document.addEventListener("dragenter", (event) => {
    if (isOurs || !event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    depth += 1;
    veil.hidden = false;
  });
  document.addEventListener("dragleave", () => {
    depth -= 1;
    if (depth <= 0) leave();
  });
  document.addEventListener("dragover", (event) => {
    if (!isOurs && event.dataTransfer?.types.includes("Files")) event.preventDefault();
  });
  document.addEventListener("drop", (event) => {
    if (isOurs || !event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    leave();
    const file = pictureIn(event.dataTransfer) ?? event.dataTransfer.files[0];
    if (file) take(file);
  });
}

function pictureIn(transfer) {
  return [...(transfer?.files ?? [])].find((file) => file.type.startsWith("image/"));
}
