// Numbers in words that people use.

const NUMBERS = new Intl.NumberFormat("en");

export function number(value) {
  return typeof value === "number" ? NUMBERS.format(value) : String(value);
}

export function counted(value, one, many = `${one}s`) {
  return `${number(value)} ${value === 1 ? one : many}`;
}

export function percent(share) {
  const value = 100 * share;
  if (value > 0 && value < 1) return "<1%";
  if (value > 99 && value < 100) return ">99%";
  return `${Math.round(value)}%`;
}

const MATCHES = [
  [0.9, "Strong match"],
  [0.7, "Good match"],
  [0.5, "Fair match"],
  [0.25, "Weak match"],
  [0, "Poor match"],
];

export function match(probability) {
  return MATCHES.find(([least]) => probability >= least)[1];
}

// What a name or an announcement holds of a text of any length.
export function short(text, most = 160) {
  const letters = [...text.slice(0, 2 * most)];
  return letters.length > most ? `${letters.slice(0, most).join("").trimEnd()}…` : text;
}

export function sentence(text) {
  const trimmed = text.trim();
  return `${trimmed.charAt(0).toUpperCase()}${trimmed.slice(1)}${/[.!?]$/.test(trimmed) ? "" : "."}`;
}

export function column(name) {
  const spaced = name.replaceAll("_", " ").trim() || name;
  return spaced.charAt(0).toUpperCase() + spaced.slice(1);
}

export function value(cell) {
  if (cell === true) return "yes";
  if (cell === false) return "no";
  return String(cell).replaceAll("_", " ");
}
