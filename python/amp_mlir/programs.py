"""The programs as console scripts of the wheel."""
import os
import sys
from pathlib import Path


def _run(name):
    path = Path(__file__).resolve().parent / "bin" / name
    os.execv(path, [name, *sys.argv[1:]])


def amp_opt():
    _run("amp-opt")


def amp_compile():
    _run("amp-compile")


def amp_run():
    _run("amp-run")


def amp_lsp_server():
    _run("amp-lsp-server")


def amp_reduce():
    _run("amp-reduce")
