"""The report object."""
import html
import json
import os
import sys
import tempfile
import webbrowser
from pathlib import Path

from .page import make_page, to_json
from .text import write_text


def _load(value, lines=False):
    """A value as it is, or what the JSON file at a path holds; with `lines`, a list of a JSON-lines file's objects."""
    if not isinstance(value, (str, os.PathLike)):
        return list(value) if lines and value is not None else value
    text = Path(value).read_text(encoding="utf-8")
    try:
        return [json.loads(line) for line in text.splitlines() if line.strip()] if lines else json.loads(text)
    except ValueError as error:
        raise ValueError(f"{os.fspath(value)}: expected JSON, but {error}") from None


def _check(name, value, keys):
    missing = [key for key in keys if not isinstance(value, dict) or key not in value]
    if missing:
        raise ValueError(f"{name}: expected a report with {', '.join(keys)}, but {', '.join(missing)} is missing")


class Report:
    """What is known about one model: decisions, lint findings, the compiled step and its training.

    - `autocast`: the report of `amp-opt --report=x.json` (dict, or path of the file).
    - `lint`: the findings of `--amp-lint=file=x.json` (dict or path).
    - `compile`: the report of `amp-compile --report x.json` (dict or path); the decisions in it are shown, too.
    - `log`: rows as `amp-run train --log` writes them (iterable of dicts, or path): step, loss, scale, skipped, grad_norm.
    - `title`: heads the page; default: the model's name where one is known.

    Raises ValueError that names the part that is no report, and OSError for a file that cannot be read.
    """

    def __init__(self, autocast=None, lint=None, compile=None, log=None, title=None):
        compiled = _load(compile)
        if compiled is not None:
            _check("compile", compiled, ("entries", "seconds"))
            compiled = dict(compiled)
            autocast = compiled.pop("autocast", None) if autocast is None else autocast
        self._parts = {"autocast": _load(autocast), "lint": _load(lint), "compile": compiled, "log": _load(log, lines=True)}
        self._parts = {name: part for name, part in self._parts.items() if part is not None}
        if "autocast" in self._parts:
            _check("autocast", self._parts["autocast"], ("summary", "ops", "constants"))
        if "lint" in self._parts:
            _check("lint", self._parts["lint"], ("findings",))
        for row in self._parts.get("log", []):
            _check("log", row, ("step", "loss"))
        self.title = title or Path((compiled or {}).get("model", "")).name or None

    @property
    def data(self):
        """All parts in one dict: what the JSON form and the page hold."""
        return ({"title": self.title} if self.title else {}) | self._parts

    @property
    def summary(self):
        """Totals of the decisions; an empty dict when there are none."""
        return self._parts.get("autocast", {}).get("summary", {})

    @property
    def rows(self):
        """One dict for each operator that was decided about, in program order: name, op, operands, results, rule, note, ..."""
        return self._parts.get("autocast", {}).get("ops", [])

    def text(self):
        """The report as text; the decisions as `amp-opt --report=x.txt` writes them."""
        return write_text(self._parts)

    def json(self):
        """The report as JSON text."""
        return to_json(self.data)

    def html(self):
        """The report as one self-contained page."""
        return make_page(self.data)

    def save(self, path):
        """Writes the report, as HTML, JSON or text by the name's end. An older file stays whole until the new one is."""
        path = Path(path)
        forms = {".html": self.html, ".htm": self.html, ".json": self.json, ".txt": self.text}
        if path.suffix.lower() not in forms:
            raise ValueError(f"{path}: expected a name that ends in .html, .json or .txt")
        text = forms[path.suffix.lower()]()
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            try:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
                mask = os.umask(0)
                os.umask(mask)
                os.chmod(file.name, 0o666 & ~mask)
                os.replace(file.name, path)
            except BaseException:
                os.unlink(file.name)
                raise

    def show(self):
        """Shows the page: in a notebook below the cell, on a desktop in the browser; where there is neither, prints the text."""
        if "IPython" in sys.modules and (shell := sys.modules["IPython"].get_ipython()) is not None and hasattr(shell, "kernel"):
            from IPython.display import display
            display(self)
            return
        if sys.platform in ("win32", "darwin") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
            path = Path(tempfile.mkdtemp(prefix="amp-report-")) / "report.html"
            self.save(path)
            if webbrowser.open(path.as_uri()):
                return
        print(self.text())

    def _repr_html_(self):
        """A frame of its own, so that neither page's style touches the other's."""
        return (f'<iframe title="amp-mlir report" style="width:100%;height:700px;border:1px solid #8888" sandbox="allow-scripts allow-downloads" '
                f'srcdoc="{html.escape(self.html())}"></iframe>')

    def __repr__(self):
        parts = ", ".join(f"{name}: {size}" for name, size in (
            ("ops", len(self.rows)), ("findings", len(self._parts.get("lint", {}).get("findings", []))),
            ("entries", len(self._parts.get("compile", {}).get("entries", []))), ("steps", len(self._parts.get("log", [])))) if size)
        return f"<Report {self.title or ''}{': ' if self.title and parts else ''}{parts}>"
