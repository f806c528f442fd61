"""Compiled artifacts on disk, by a hash of all that decides what they are."""
import json
import os
import shutil
import tempfile
import warnings
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

from .errors import Error

# Bytes that are kept; what was used least recently goes first.
LIMIT = 4 << 30


def folder():
    """Where artifacts are kept: $AMP_CACHE, or amp-mlir/compiled in $XDG_CACHE_HOME (default ~/.cache)."""
    own = os.environ.get("AMP_CACHE")
    return Path(own) if own else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "amp-mlir" / "compiled"


def clear_cache():
    """Removes all cached artifacts. Steps that are open go on."""
    shutil.rmtree(folder(), ignore_errors=True)


def _size(path):
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def _shrink(root, keep):
    """Removes what was used least recently until LIMIT is met; other processes may do so at the same time."""
    entries = []
    for path in root.iterdir():
        try:
            entries.append((path.stat().st_mtime, _size(path), path))
        except OSError:
            continue
    total = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries):
        if total <= LIMIT:
            break
        if path != keep:
            shutil.rmtree(path, ignore_errors=True)
            total -= size


@dataclass
class Opened:
    """An opened artifact. report: what the compiler says about it. close: frees what has to stay open with it."""

    step: Any
    report: dict
    close: Callable = lambda: None


def _read_report(path):
    return json.loads((path / "report.json").read_text(encoding="utf-8"))


def compiled(key, make, open_step, cache):
    """The artifact `key`, Opened: a cached one, or what make(path) writes now, with report.json in it. open_step(path) opens it.

    cache: True for the usual folder, a path for another one, False to keep the artifact in memory alone.
    """
    if cache is False:
        return _in_memory(make, open_step)
    root = folder() if cache is True else Path(cache)
    root.mkdir(parents=True, exist_ok=True)
    path = root / key
    if (path / "report.json").exists():
        try:
            opened = Opened(open_step(str(path)), _read_report(path))
            os.utime(path)
            return opened
        except (Error, OSError, ValueError) as error:
            warnings.warn(f"the cached artifact {path} can't be used ({error}); it is compiled again", stacklevel=3)
            shutil.rmtree(path, ignore_errors=True)
    make(str(path))
    _shrink(root, path)
    return Opened(open_step(str(path)), _read_report(path))


def _in_memory(make, open_step):
    """The artifact as an archive in a file without a name; its folder is gone when this returns."""
    work = Path(tempfile.mkdtemp(prefix="amp-mlir-"))
    fd = os.memfd_create("amp-mlir", os.MFD_CLOEXEC)
    try:
        make(str(work / "step"))
        report = _read_report(work / "step")
        with os.fdopen(os.dup(fd), "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            for part in sorted((work / "step").rglob("*")):
                if part.is_file() and part.name != "report.json":
                    archive.write(part, part.relative_to(work / "step"))
        return Opened(open_step(f"/proc/self/fd/{fd}"), report, lambda: os.close(fd))
    except BaseException:
        os.close(fd)
        raise
    finally:
        shutil.rmtree(work, ignore_errors=True)
