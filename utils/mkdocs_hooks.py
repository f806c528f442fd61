"""Hooks of mkdocs.yml: README and CONTRIBUTING are pages of the site, pages that the navigation does not name yet come last, and files
of the repository that a page links to are put beside it."""
import os
import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
PAGES = {"index.md": "README.md", "contributing.md": "CONTRIBUTING.md"}
LINK = re.compile(r"(?<=\]\()([^()\s#]+)(#[^()\s]*)?(?=\))")


def _walk(nav):
    for entry in nav:
        value = next(iter(entry.values())) if isinstance(entry, dict) else entry
        yield from _walk(value) if isinstance(value, list) else [value]


def on_config(config):
    """A page that is in docs/ and not in the navigation gets a place at its end, so that no page of a new feature is lost."""
    docs = Path(config.docs_dir)
    known = set(_walk(config.nav))
    more = sorted(path.relative_to(docs).as_posix() for path in docs.rglob("*.md") if path.relative_to(docs).as_posix() not in known)
    if more:
        config.nav.append({"More": more})
    return config


def on_files(files, config):
    for page, source in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text(encoding="utf-8")))
    for path in _linked(Path(config.docs_dir)):
        files.append(File.generated(config, "files/" + path, abs_src_path=str(ROOT / path)))
    return files


def _target(source, link):
    """What a link in the repository's file `source` leads to, as a path in the repository; None for other hosts."""
    return None if ":" in link or link.startswith("/") else posixpath.normpath(posixpath.join(posixpath.dirname(source), link))


def _in_site(target):
    """Where the site has a file of the repository."""
    names = {source: page for page, source in PAGES.items()}
    if target in names:
        return names[target]
    return target.removeprefix("docs/") if target.startswith("docs/") else "files/" + target


def _linked(docs):
    """Files outside of docs/ that pages link to."""
    sources = [path for path in docs.rglob("*.md")] + [ROOT / source for source in PAGES.values()]
    found = set()
    for source in sources:
        name = source.relative_to(ROOT).as_posix()
        for link, _ in LINK.findall(source.read_text(encoding="utf-8")):
            target = _target(name, link)
            if target and not target.startswith("docs/") and target not in PAGES.values() and (ROOT / target).is_file():
                found.add(target)
    return sorted(found)


def on_page_markdown(markdown, page, config, files):
    uri = page.file.src_uri
    source = PAGES.get(uri, "docs/" + uri)

    def rewrite(match):
        target = _target(source, match[1])
        if target is None:
            return match[0]
        return os.path.relpath(_in_site(target), posixpath.dirname(uri) or ".") + (match[2] or "")

    return LINK.sub(rewrite, markdown)
