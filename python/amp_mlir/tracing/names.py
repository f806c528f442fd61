"""Names of nodes and places in the user's source, from what torch.export notes down."""

from __future__ import annotations

import os
import re

import torch

_TORCH = os.path.dirname(os.path.realpath(torch.__file__)) + os.sep
_FRAME = re.compile(r'File "([^"]+)", line (\d+), in')


class Names:
    """Makes names unique by a number at the end."""

    def __init__(self):
        self._counts = {}

    def unique(self, name):
        count = self._counts[name] = self._counts.get(name, -1) + 1
        return self.unique(f"{name}_{count}") if count else name


def module_path(node, prefix=""):
    """'/layer1/0/conv1' of a node; '' at the top. `prefix` ('model.') is left out."""
    stack = list(node.meta.get("nn_module_stack", {}).values())
    path = stack[-1][0] if stack else ""
    if not path or not re.fullmatch(r"[\w.@\[\]'\"]+", path) or path.startswith("_empty_nn_module_stack"):
        return ""
    path = (re.sub(r"@\d+$", "", path) + ".").removeprefix(prefix)
    return "".join("/" + part for part in re.split(r"[.\[\]'\"]+", path) if part)


def location(node):
    """(file, line) of the innermost frame that is not PyTorch's, or None."""
    frames = [(file, int(line)) for file, line in _FRAME.findall(node.meta.get("stack_trace") or "")]
    own = [frame for frame in frames if is_own(frame[0])]
    return (own or [None])[-1]


def is_own(file):
    """Whether a source file is the user's: not PyTorch's, not made up."""
    return not file.startswith(("<", "torch/")) and not os.path.realpath(file).startswith(_TORCH)


def line_of(node):
    """'model.py:12' for messages, with the line's text where the file is there."""
    place = location(node)
    if place is None:
        return None
    text = ""
    if os.path.isfile(place[0]):
        with open(place[0], errors="replace") as file:
            lines = file.read().splitlines()
        text = lines[place[1] - 1].strip() if place[1] <= len(lines) else ""
    return f"{place[0]}:{place[1]}" + (f": {text}" if text else "")
