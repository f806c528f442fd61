#!/usr/bin/env python3
"""Checks links: those of Markdown files to files and headings of this repository, or with --site those of a built site to its own pages.

Prints what is broken, one link a line, and ends with 1 if anything is. Addresses of other hosts are not visited.
"""
import argparse
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^()\s]+(?:\([^()\s]*\))?)\)")


def slug(heading):
    """The anchor that GitHub and mkdocs give a heading."""
    text = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[\s]+", "-", re.sub(r"[^\w\s-]", "", text))


def outside_code(text):
    return re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)


def anchors(path):
    text = outside_code(path.read_text(encoding="utf-8"))
    return {slug(match[1]) for match in re.finditer(r"^#+ (.*)$", text, re.M)} | set(re.findall(r'<a (?:id|name)="([^"]+)"', text))


def broken_in_markdown(path):
    for number, line in enumerate(outside_code(path.read_text(encoding="utf-8")).splitlines(), 1):
        for match in LINK.finditer(re.sub(r"`[^`]*`", lambda m: "x" * len(m[0]), line)):
            target = urlsplit(match[1])
            if target.scheme or target.netloc:
                continue
            file = (path.parent / unquote(target.path)).resolve() if target.path else path
            if not file.exists():
                yield f"{path}: {match[1]}: there is no such file"
            elif target.fragment and file.suffix == ".md" and target.fragment not in anchors(file):
                yield f"{path}: {match[1]}: there is no such heading"


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.ids, self.loads = [], set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.ids |= {values[key] for key in ("id", "name") if values.get(key)}
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        source = values.get("src") or (values.get("href") if tag == "link" and values.get("rel") in ("stylesheet", "icon") else None)
        if source:
            self.loads.append(source)


def broken_in_site(root):
    pages = {path.resolve(): Page(path.read_text(encoding="utf-8")) for path in root.rglob("*.html")}
    for path, page in pages.items():
        # The page of what is not found is served under any address, so its links begin at the host.
        if path.name == "404.html":
            continue
        for link in page.loads:
            if urlsplit(link).netloc:
                yield f"{path.relative_to(root.resolve())}: {link}: the page loads from another host"
        for link in page.links + page.loads:
            target = urlsplit(link)
            if target.scheme or target.netloc:
                continue
            file = (path.parent / unquote(target.path)).resolve() if target.path else path
            file = file / "index.html" if file.is_dir() else file
            if not file.exists():
                yield f"{path.relative_to(root.resolve())}: {link}: there is no such page"
            elif target.fragment and file in pages and unquote(target.fragment) not in pages[file].ids | {"__top"}:
                yield f"{path.relative_to(root.resolve())}: {link}: there is no such place"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--site", action="store_true", help="paths are folders of built sites")
    parser.add_argument("paths", nargs="+", type=Path)
    options = parser.parse_args()
    broken = []
    for path in options.paths:
        if options.site:
            broken += broken_in_site(path)
        else:
            for file in sorted(path.rglob("*.md")) if path.is_dir() else [path]:
                broken += broken_in_markdown(file)
    print("\n".join(broken), end="\n" if broken else "")
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main())
