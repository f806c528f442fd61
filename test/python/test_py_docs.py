"""The tutorial's code, run block after block in one process."""
import re

import pytest

from harness import ROOT

pytest.importorskip("amp_mlir", reason="the Python package is not built (Python's headers are missing)")
pytest.importorskip("torch", reason="PyTorch is not installed")


def test_tutorial(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AMP_CACHE", str(tmp_path / "cache"))
    text = (ROOT / "docs/tutorials/python.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)
    assert len(blocks) == 6
    space = {}
    for block in blocks:
        exec(compile(block, "docs/tutorials/python.md", "exec"), space)  # noqa: S102
    assert "operators are float16" in capsys.readouterr().out
