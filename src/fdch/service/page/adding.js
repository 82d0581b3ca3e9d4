// The form that adds an item to the index, for people who have a write token.

import { build } from "/static/build.js";
import { explain } from "/static/explain.js";
import * as service from "/static/service.js";
import * as words from "/static/words.js";

const COLUMNS = 12;

// actions: likeAddress(id), added() gives how many items there are now
export function form(index, actions) {
  if (!index.can_write) return null;
  const picture = input("picture", { type: "file", accept: "image/*" });
  const text = build("textarea", { id: "new-text", rows: "1", maxlength: "20000", dir: "auto" });
  const labels = input("labels", { placeholder: "separated by commas", dir: "auto" });
  const id = input("id", { required: true, dir: "auto" });
  const token = input("token", { type: "password", autocomplete: "off", placeholder: service.hasToken() ? "the one in use" : "" });
  const columns = (index.columns ?? []).slice(0, COLUMNS).map(({ name, type }, place) => (
    { name, type, field: input(`column-${place}`, type === "number" ? { inputmode: "decimal" } : { dir: "auto" }) }));
  const said = build("p", { role: "status" });
  const send = build("button", { type: "submit", class: "main" }, "Add it");
  let replaced = ""; // an id that may be replaced
  picture.addEventListener("change", () => {
    if (!id.value && picture.files[0]) id.value = picture.files[0].name.replace(/\.\w+$/, "");
  });
  const submit = async () => {
    const name = id.value.trim();
    if (token.value.trim()) service.setToken(token.value.trim());
    if (name !== replaced && await isThere(name)) {
      replaced = name;
      send.textContent = "Replace it";
      return [`An item “${words.short(name)}” already exists. Replace it, or choose another id.`];
    }
    const item = { ...(text.value.trim() && { text: text.value.trim() }), labels: split(labels.value), columns: cellsOf(columns) };
    const { created } = await service.put(name, item, picture.files[0]);
    const count = await actions.added();
    for (const field of [picture, text, labels, id, ...columns.map((each) => each.field)]) field.value = "";
    return [`${created ? "Added" : "Replaced"}. The index has ${words.counted(count, "item")}. `,
      build("a", { href: actions.likeAddress(name) }, "Find items like it")];
  };
  const shown = build("form", {
    class: "adding", onsubmit: async (event) => {
      event.preventDefault();
      send.disabled = true;
      send.textContent = "Add it";
      said.className = "";
      said.replaceChildren("Adding…");
      try {
        said.replaceChildren(...await submit());
      } catch (problem) {
        said.className = "wrong";
        said.replaceChildren(describe(problem));
      }
      send.disabled = false;
    },
  }, labelled("Picture", picture), labelled("Text", text), labelled("Labels", labels), labelled("Id", id),
  columns.map(({ name, field }) => labelled(words.column(name), field)), labelled("Write token", token), send, said);
  return build("details", { class: "add" }, build("summary", {}, "Add an item"), shown);
}

function input(name, attributes) {
  return build("input", { id: `new-${name}`, type: "text", autocomplete: "off", ...attributes });
}

function labelled(name, field) {
  return build("div", { class: "field" }, build("label", { for: field.id, dir: "auto" }, words.short(name, 60)), field);
}

function split(labels) {
  return [...new Set(labels.split(/[,;]/).map((each) => each.trim()).filter(Boolean))];
}

function cellsOf(columns) {
  const given = columns.map(({ name, type, field }) => [name, type, field.value.trim()]).filter(([,, value]) => value);
  return Object.fromEntries(given.map(([name, type, value]) => (
    [name, type === "number" && Number.isFinite(Number(value)) ? Number(value) : value])));
}

async function isThere(id) {
  try {
    await service.item(id);
    return true;
  } catch (problem) {
    if (problem.status === 404) return false;
    throw problem;
  }
}

function describe(problem) {
  if (!(problem instanceof service.Problem)) throw problem;
  if ([401, 403].includes(problem.status)) return "This needs a write token; the one given does not allow it.";
  if (["bad_id", "invalid", "bad_request"].includes(problem.code)) return `${problem.message} ${problem.hint}`.trim();
  return explain(problem).filter(Boolean).join(". ");
}
