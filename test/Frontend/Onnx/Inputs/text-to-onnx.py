"""Serializes a model in ONNX's textual syntax.

  text-to-onnx.py IN.txt OUT.onnx [STATEMENT...]
  text-to-onnx.py IN.txt --cases TEST FOLDER

The statements are Python over `m` (the ModelProto) for what the syntax can't say. The second form writes one model per line
`// CASE: name: statement` of the test, to FOLDER/name.onnx. Lines of IN.txt that begin with `//` are skipped.
"""
import os  # noqa: F401 (for the statements)
import re
import sys

import onnx
from onnx import TensorProto, helper, numpy_helper  # noqa: F401 (for the statements)

source, target, *statements = sys.argv[1:]
text = "".join(line for line in open(source) if not line.startswith("//"))


def write(path, changes):
    m = onnx.parser.parse_model(text)
    for change in changes:
        exec(change, globals(), {"m": m})
    with open(path, "wb") as file:
        file.write(m.SerializeToString())


if target == "--cases":
    test, folder = statements
    for name, change in re.findall(r"^// CASE: ([\w-]+): (.*)$", open(test).read(), re.MULTILINE):
        write(os.path.join(folder, name + ".onnx"), [change])
else:
    write(target, statements)
