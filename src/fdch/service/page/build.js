// Elements from plain calls; texts are always set as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "hidden" || name === "disabled") element[name] = Boolean(value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
  return element;
}

export function build(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

export function draw(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

export function find(id) {
  return document.getElementById(id);
}

export function icon(...paths) {
  const drawn = paths.map((d) => draw("path", { d }));
  return draw("svg", { viewBox: "0 0 24 24", "aria-hidden": "true", focusable: "false" }, drawn);
}
