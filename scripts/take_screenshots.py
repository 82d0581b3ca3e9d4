"""Take the pictures of the page that docs/ shows, from the demo's index.

Make the index with `make demo` first; Chromium and `pip install playwright` are
needed. Then: python scripts/take_screenshots.py
"""

import io
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import click
from PIL import Image
from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
READY_SECONDS = 180
ALL_SHOWN = """() => [...document.images].every((each) =>
    !each.classList.contains("is-coming")
    || each.getBoundingClientRect().top > innerHeight)"""


@dataclass(frozen=True)
class Shot:
    """One picture.

    Args:
        address: What the page shows.
        sign: An element that is there when it is drawn.
        size: Of the window.
        scheme: Whether the system's colours are light or dark.
        scale: Pixels of the picture to one of the window.
        hover: What the pointer rests on.
    """

    address: str
    sign: str
    size: tuple[int, int] = (1280, 860)
    scheme: Literal["light", "dark"] = "light"
    scale: float = 1
    hover: str | None = None


SHOTS = {
    "search": Shot("/?q=a+boat+on+the+beach", "#grid img"),
    "dark": Shot(
        "/?q=a+house+in+the+mountains&min=0.5"
        "&where=time%20in%20%5B%22sunset%22,%22night%22%5D",
        "#grid img",
        scheme="dark",
    ),
    "phone": Shot("/?q=a+car+in+the+snow", "#grid img", size=(390, 844), scale=1.5),
    "index": Shot(
        "/?view=index",
        "figure .groups",
        size=(1280, 1900),
        hover=".groups li:nth-child(2) a",
    ),
    "start": Shot("/", ".examples img"),
}


@click.command()
@click.option("--index", default=ROOT / "demo" / "index", type=click.Path())
@click.option("--out", default=ROOT / "docs" / "screenshots", type=Path)
def main(index: str, out: Path) -> None:
    """Serve an index, open its page and take each picture."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        raise click.ClickException("there is no Chromium on this machine.")
    out.mkdir(parents=True, exist_ok=True)
    with serving(str(index)) as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox"]
        )
        for name, shot in SHOTS.items():
            content = smaller(take(browser, url, shot))
            (out / f"{name}.png").write_bytes(content)
            click.echo(f"{out / name}.png  {len(content) / 1000:.0f} kB")
        browser.close()


@contextmanager
def serving(index: str) -> Iterator[str]:
    """Serve an index on a free port while the pictures are taken."""
    command = [sys.executable, "-m", "fdch", "serve", index, "--port", "0", "--quiet"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            found = re.search(r"http://\S+?(?=/?\s)", server.stdout.readline())
            if found is None:
                raise click.ClickException("the service did not start.")
            _wait_until_ready(found[0])
            yield found[0]
        finally:
            server.terminate()


def _wait_until_ready(url: str) -> None:
    end = time.monotonic() + READY_SECONDS
    while True:
        try:
            urllib.request.urlopen(f"{url}/ready").close()
            return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)


def take(browser: Browser, url: str, shot: Shot) -> bytes:
    """Open the page and take its picture."""
    page = browser.new_page(
        viewport={"width": shot.size[0], "height": shot.size[1]},
        color_scheme=shot.scheme,
        device_scale_factor=shot.scale,
        reduced_motion="reduce",
    )
    page.goto(url + shot.address)
    page.locator(shot.sign).first.wait_for()
    page.wait_for_load_state("networkidle")
    page.wait_for_function(ALL_SHOWN)
    if shot.hover:
        page.locator(shot.hover).hover()
    content = page.screenshot()
    page.close()
    return content


def smaller(content: bytes) -> bytes:
    """Write a picture without what the eye does not see."""
    out = io.BytesIO()
    with Image.open(io.BytesIO(content)) as picture:
        picture.convert("RGB").save(out, "PNG", optimize=True)
    return out.getvalue()


if __name__ == "__main__":
    main()
