// The parts of a query, as the service takes them.

const AVOIDED = /(?<!\S)-([\p{L}\p{N}_]\S*)/gu;

// A word with a hyphen before it is one to avoid, unless it stands in double quotes.
export function partsOf(asked) {
  const avoid = [...asked.text.matchAll(AVOIDED)].map((found) => found[1]);
  const text = avoid.length ? asked.text.replaceAll(AVOIDED, "").split(/\s+/).filter(Boolean).join(" ") : asked.text;
  const parts = { like: asked.like, unlike: asked.unlike, avoid };
  return text ? { text, ...parts } : parts;
}

// Nobody knows how probable results of several parts are.
export function areSeveral(asked) {
  const { text, like, unlike, avoid } = partsOf(asked);
  return (text ? 1 : 0) + (asked.picture ? 1 : 0) + like.length + unlike.length + avoid.length > 1;
}
