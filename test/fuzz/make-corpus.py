"""Copies small models of the onnx wheel into a folder as seeds: make-corpus.py FOLDER [MOST_BYTES]"""
import pathlib
import shutil
import sys

import onnx

target = pathlib.Path(sys.argv[1])
most = int(sys.argv[2]) if len(sys.argv) > 2 else 1500
target.mkdir(parents=True, exist_ok=True)
tests = pathlib.Path(onnx.__file__).parent / "backend/test/data"
models = [path for path in sorted(tests.rglob("*.onnx")) if path.stat().st_size <= most]
for path in models:
    shutil.copyfile(path, target / f"{path.parent.name}.onnx")
print(f"{len(models)} seeds in {target}")
