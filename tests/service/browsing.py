"""A real browser, and what a person does with the page."""

import base64
import shutil
import time
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, Playwright, expect

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
PATIENCE_MS = 60_000
SERIOUS = {"serious", "critical"}

_FILE = """([event, base64, name, type]) => {
    const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
    const transfer = new DataTransfer();
    transfer.items.add(new File([bytes], name, { type }));
    const more = { bubbles: true, cancelable: true };
    if (event === "paste") {
        more.clipboardData = transfer;
        document.dispatchEvent(new ClipboardEvent("paste", more));
    } else {
        more.dataTransfer = transfer;
        document.body.dispatchEvent(new DragEvent(event, more));
    }
}"""


def find_browser() -> str | None:
    """The path of a browser of this machine."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def launch(playwright: Playwright) -> Browser | None:
    """Start a browser, if there is one; give it the time that a busy machine needs."""
    path = find_browser()
    if path is None:
        return None
    expect.set_options(timeout=PATIENCE_MS)
    return playwright.chromium.launch(
        executable_path=path, args=OPTIONS, timeout=4 * PATIENCE_MS
    )


@dataclass
class Visit:
    """A page that someone looks at, and whatever went wrong on it."""

    page: Page
    url: str
    troubles: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def __post_init__(self):
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.on("console", self._hear)
        self.page.on("request", lambda request: self.requests.append(request.url))

    def _hear(self, message):
        # a refused request is reported on the console as well as on the page
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.troubles.append(message.text)

    def open(self, address="/"):
        self.page.goto(self.url + address)
        return self

    def search(self, words):
        self.page.get_by_label("Search with words").fill(words)
        self.page.keyboard.press("Enter")
        return self

    @property
    def cards(self):
        return self.page.locator("#grid .card:not(.skeleton)")

    @property
    def heading(self):
        return self.page.locator("#heading")

    @property
    def state(self):
        return self.page.locator(".state:visible")

    def ids(self):
        """The ids of the results on show, once there are any."""
        expect(self.cards.first).to_be_visible()
        expect(self.page.locator("#grid")).not_to_have_attribute("aria-busy", "true")
        return self.page.eval_on_selector_all(
            "#grid .card", "cards => cards.map((card) => card.dataset.id)"
        )

    def query(self):
        """The fields of the page's address."""
        return parse_qs(urlsplit(self.page.url).query, keep_blank_values=True)

    def wait_until(self, is_so):
        """Wait for something that the page's requests bring about."""
        end = time.monotonic() + PATIENCE_MS / 1000
        while not is_so():
            assert time.monotonic() < end, "it did not happen in time"
            self.page.wait_for_timeout(10)

    def bring(self, event, content, name="picture.png", kind="image/png"):
        """Drop or paste a file."""
        encoded = base64.b64encode(content).decode()
        if event == "drop":
            self.page.evaluate(_FILE, ["dragenter", encoded, name, kind])
            expect(self.page.locator("#drop")).to_be_visible()
        self.page.evaluate(_FILE, [event, encoded, name, kind])

    def focused(self):
        """The id of the card that has the focus."""
        return self.page.evaluate(
            "document.activeElement.closest('.card')?.dataset.id ?? null"
        )

    def overflow(self):
        """By how many pixels the page is wider than the window."""
        return self.page.evaluate(
            "document.documentElement.scrollWidth - window.innerWidth"
        )

    def barriers(self):
        """What keeps people out, by axe: serious and critical findings."""
        found = Axe().run(self.page).response["violations"]
        return [
            (each["id"], [node["html"][:200] for node in each["nodes"]])
            for each in found
            if each["impact"] in SERIOUS
        ]


def visit(browser: Browser, url: str, **options) -> Visit:
    """Open the page again, with nothing remembered."""
    options = {"viewport": {"width": 1280, "height": 860}} | options
    context = browser.new_context(reduced_motion="reduce", **options)
    context.set_default_timeout(PATIENCE_MS)
    return Visit(context.new_page(), url)
