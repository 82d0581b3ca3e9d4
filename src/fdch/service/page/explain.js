// What went wrong, in words for people: the service's own are for programs too.

// what ends without anyone's doing: the page waits for it
const PASSING = {
  away: ["The search service is away", "This page cannot reach it. It goes on by itself as soon as the service is back."],
  loading: ["The search service is starting", "It is loading its model, which takes a moment. This page goes on by itself."],
  index_lost: ["The index is not in its place", "It was removed or replaced. This page goes on by itself as soon as it is back."],
};
const SAID = {
  ...PASSING,
  unknown_item: ["This item is not in the index", "It may have been removed since, or the link is of another index."],
  unknown_words: ["No word of this is known here", "The model behind this index learned its words from its own texts. Try others, or a picture."],
  broken_picture: ["This picture cannot be read", "Its file may be damaged, or too large. JPEG, PNG, WebP, GIF, BMP and TIFF can be read."],
  too_large: ["This picture is too large", "Use a smaller one."],
  no_pictures: ["This index cannot look at pictures", "Its model was trained without them. Search with words instead."],
  slow_body: ["The picture came too slowly", "The connection may be poor. Try again, or with a smaller picture."],
  internal: ["Something went wrong in the service", "It was not your doing. Whoever runs the service finds more in its log."],
  unknown: ["Something went wrong in the service", "It gave an answer that this page does not understand."],
  page: ["Something went wrong on this page", "Reload it; if that does not help, tell whoever runs the service."],
};
const FILTER = ["A filter cannot be used", "It is longer than the service takes, or there are too many of them."];
const TEXT = ["This is too long to search with", "Words to search with have 2,000 characters at most."];
const LINK = ["This link cannot be used", "Something in it is not what the service takes."];

export function passes(error) {
  return error.code in PASSING;
}

// Gives a heading and the sentences below it.
export function explain(error) {
  if (error.code === "invalid") return invalid(error.message);
  if (error.code === "bad_id") return SAID.unknown_item;
  if (error.code === "bad_request") return ["This cannot be searched for", error.message];
  return SAID[error.code] ?? ["This did not work", error.message, error.hint];
}

// Such messages begin with the name of what is wrong.
function invalid(message) {
  if (/^where\b/i.test(message)) return FILTER;
  if (/^text\b/i.test(message)) return TEXT;
  return /^(?:id|like|unlike)\b/i.test(message) ? SAID.unknown_item : LINK;
}
