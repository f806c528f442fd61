"""Serializes a model in ONNX's textual syntax: text-to-onnx.py IN.txt OUT.onnx [STATEMENT...]

The statements are Python over `m` (the ModelProto) for what the syntax can't say. Lines that begin with `//` are skipped.
"""
import sys

import onnx
from onnx import TensorProto, helper, numpy_helper  # noqa: F401 (for the statements)

source, target, *statements = sys.argv[1:]
lines = [line for line in open(source) if not line.startswith("//")]
m = onnx.parser.parse_model("".join(lines))
for statement in statements:
    exec(statement)
with open(target, "wb") as file:
    file.write(m.SerializeToString())
