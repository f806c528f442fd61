"""Splits the lit tests of autocast into seeds, a byte that chooses the options before each: make-text-corpus.py FOLDER"""
import pathlib
import sys

target = pathlib.Path(sys.argv[1])
target.mkdir(parents=True, exist_ok=True)
tests = pathlib.Path(__file__).resolve().parents[1]
count = 0
for path in sorted([*(tests / "Dialect").rglob("*.mlir"), *(tests / "Pipelines").rglob("*.mlir")]):
    for part in path.read_text().split("// -----"):
        code = "\n".join(line for line in part.splitlines() if not line.lstrip().startswith("//"))
        if 0 < len(code) < 4000:
            (target / f"{path.stem}-{count}.mlir").write_bytes(bytes([count % 8]) + code.encode())
            count += 1
print(f"{count} seeds in {target}")
