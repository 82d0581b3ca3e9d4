"""Hooks of mkdocs: files of the repository's root become pages of the site."""

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages."""
    for source, page in PAGES.items():
        text = (ROOT / source).read_text("utf-8")
        text = re.sub(r"\]\(docs/", "](", text)  # as seen from docs/
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, **_: object) -> str:
    """Let links to files of the root lead to their pages."""
    for source, page in PAGES.items():
        markdown = markdown.replace(f"](../{source}", f"]({page}")
        markdown = markdown.replace(f"]({source}", f"]({page}")
    return markdown
