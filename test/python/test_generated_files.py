"""What is generated in the tree is what its generators write."""
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("command", [
    [sys.executable, "utils/dump-onnx-schemas", "--check"],
    [sys.executable, "utils/gen-onnx-dialect", "--check"],
    ["utils/gen-docs", "--check"],
], ids=lambda command: pathlib.Path(command[-2]).name)
def test_regenerate_and_compare(command):
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
