// Pictures that a token has to go along for: fetched when they come near the
// screen, a few at a time, and again after the wait that the service requests.

const AT_A_TIME = 6;
const TRIES = 6;
const NEAR = "600px";
const BUSY = [429, 502, 503, 504];
const addresses = new WeakMap(); // by image
const waiting = [];
let running = 0;
let restUntil = 0;
let timer = 0;

const near = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    near.unobserve(target);
    waiting.push({ image: target, tries: 0 });
  }
  work();
}, { rootMargin: NEAR });

// get(address) gives the service's reply.
export function show(image, address, get) {
  addresses.set(image, () => get(address));
  near.observe(image);
}

function work() {
  clearTimeout(timer);
  const rest = restUntil - Date.now();
  if (rest > 0) {
    if (waiting.length) timer = setTimeout(work, rest);
    return;
  }
  while (running < AT_A_TIME && waiting.length) {
    const next = waiting.shift();
    if (!next.image.isConnected) continue; // other results have taken its place
    running += 1;
    load(next).finally(() => { running -= 1; work(); });
  }
}

async function load(entry) {
  try {
    const reply = await addresses.get(entry.image)();
    if (BUSY.includes(reply.status) && entry.tries + 1 < TRIES) {
      restUntil = Date.now() + 1000 * (Number(reply.headers.get("Retry-After")) || 1);
      waiting.unshift({ ...entry, tries: entry.tries + 1 });
      return;
    }
    if (!reply.ok) throw new Error("no picture");
    draw(entry.image, await reply.blob());
  } catch {
    entry.image.dispatchEvent(new Event("error"));
  }
}

function draw(image, blob) {
  const made = URL.createObjectURL(blob);
  image.addEventListener("load", () => URL.revokeObjectURL(made), { once: true });
  image.src = made;
}
