"""Importing this restarts the script with the project's own Python, where numpy and onnx are."""
import os
import sys
from pathlib import Path

_python = Path(__file__).resolve().parent.parent / ".venv/bin/python"
if _python.exists() and not os.environ.get("AMP_IN_VENV"):
    os.execve(_python, [str(_python), *sys.argv], dict(os.environ, AMP_IN_VENV="1"))
