"""Check that the built site asks nothing of a network and links to what is there.

Sphinx has resolved what the documents refer to; this reads what it wrote, themes and
extensions included.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LOADED = {"script": "src", "img": "src", "link": "href", "source": "src"}
"""Elements for which a browser fetches something when a page is opened."""


class Page(HTMLParser):
    """What a page loads, what it links to, and the names that links to it may have."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.loads: set[str] = set()
        self.links: set[str] = set()
        self.names: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the names and the targets of an element."""
        found = dict(attrs)
        self.names |= {found[key] or "" for key in ("id", "name") if key in found}
        if target := found.get(_LOADED.get(tag, "")):
            self.loads.add(target)
        elif tag == "a" and (target := found.get("href")):
            self.links.add(target)


def faults(site: Path) -> list[str]:
    """Return what is wrong with a site, one sentence each."""
    pages = {path.resolve(): Page(path) for path in sorted(site.rglob("*.html"))}
    found = [] if pages else [f"{site} has no pages"]
    for path, page in pages.items():
        for target in sorted(page.loads | page.links):
            where = urlsplit(target)
            if where.scheme == "data" or (where.scheme and target in page.links):
                continue
            if where.scheme or where.netloc:
                found.append(f"{path.name} loads {target}")
                continue
            file = (path.parent / unquote(where.path)).resolve() if where.path else path
            if not file.exists():
                found.append(f"{path.name} names {target}, which is not there")
            elif file in pages and where.fragment:
                names = pages[file].names
                if unquote(where.fragment) not in names:
                    found.append(f"{path.name} names {target}, no place of that page")
    for sheet in sorted(site.rglob("*.css")):
        text = re.sub(r"/\*.*?\*/", "", sheet.read_text("utf-8"), flags=re.DOTALL)
        if outside := re.findall(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", text):
            found.append(f"{sheet.name} loads {len(outside)} files from elsewhere")
    return found


def main() -> None:
    """Print the faults and exit 1 if there are any."""
    found = faults(Path(sys.argv[1]))
    for fault in found:
        print(f"site: {fault}")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
