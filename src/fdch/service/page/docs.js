// The forms of /docs: send what they hold to the service, and show what comes back.

const TOKEN = "fdch-token"; // as the page keeps it
const token = document.getElementById("token");
try { token.value = sessionStorage.getItem(TOKEN) ?? ""; } catch { /* storage may be off */ }
token.addEventListener("change", () => {
  try { sessionStorage.setItem(TOKEN, token.value.trim()); } catch { /* kept in the field */ }
});

for (const form of document.querySelectorAll("form.try")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(form).catch((problem) => show(form, `No answer: ${problem.message}`));
  });
}

async function send(form) {
  const { address, body, kind } = request(form);
  const headers = new Headers();
  if (token.value.trim()) headers.set("Authorization", `Bearer ${token.value.trim()}`);
  if (kind) headers.set("Content-Type", kind);
  show(form, "Sending …");
  const began = performance.now();
  const reply = await fetch(address, { method: form.dataset.method, headers, body });
  const type = reply.headers.get("Content-Type") ?? "";
  const content = type.startsWith("image/") ? picture(await reply.blob()) : pretty(await reply.text());
  const took = Math.round(performance.now() - began);
  show(form, `${form.dataset.method} ${address}\n${reply.status} ${reply.statusText}, ${took} ms`, content);
}

function request(form) {
  let address = form.dataset.path;
  const query = new URLSearchParams();
  const fields = new FormData();
  for (const field of form.elements) {
    const place = field.dataset.in;
    if (place === "path") address = address.replace(`{${field.name}}`, encodeURIComponent(field.value));
    if (place !== "query" && place !== "form") continue;
    for (const value of field.value.split("\n").filter(Boolean)) {
      (place === "query" ? query : fields).append(field.name, value);
    }
  }
  if (query.size) address += `?${query}`;
  const file = form.elements.image?.files[0];
  const json = form.elements.body?.value;
  if (file) {
    fields.append("image", file);
    if (json) fields.append("item", json);
    return { address, body: fields };
  }
  if (form.elements.image && json === undefined) return { address, body: fields };
  return json === undefined ? { address } : { address, body: json, kind: "application/json" };
}

function pretty(text) {
  try { return JSON.stringify(JSON.parse(text), null, 1); } catch { return text; }
}

function picture(content) {
  const image = new Image();
  image.alt = "The picture that came back";
  image.src = URL.createObjectURL(content);
  return image;
}

function show(form, head, content = "") {
  const shown = form.querySelector("output");
  shown.hidden = false;
  shown.replaceChildren(head, document.createElement("br"), content);
}
