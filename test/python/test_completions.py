"""Completion of the programs' options: current, and what the shells make of it."""
import os
import shutil
import subprocess

import pytest

from harness import ROOT

FILES = ROOT / "completions"


def run(*command, **more):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=60, **more)


def needs(shell):
    return pytest.mark.skipif(shutil.which(shell) is None, reason=f"there is no {shell} (Debian: apt-get install {shell})")


def test_are_what_help_says():
    process = run(ROOT / "utils/gen-completions", "--check")
    assert process.returncode == 0, process.stdout + process.stderr


def bash(tool, *words):
    """What bash would offer after `words`, as it splits them."""
    script = (f'source "{FILES}/bash/{tool}"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
              f'_{tool.replace("-", "_")}; printf "%s\\n" "${{COMPREPLY[@]}}"')
    process = run("bash", "--norc", "-c", script, "bash", tool, *words)
    assert process.stderr == "", process.stderr
    return process.stdout.split()


def test_bash():
    assert bash("amp-opt", "--autoc") == ["--autocast="]
    assert bash("amp-opt", "--emit", "=", "on") == ["onnx"]
    assert bash("amp-opt", "--emit", "=") == ["onnx", "mlir", "mlirbc"]
    assert bash("amp-compile", "--print-") == ["--print-kernels=", "--print-memory", "--print-plan"]
    assert bash("amp-run", "tr") == ["train"]
    assert bash("amp-run", "train", "--last-batch", "d") == ["drop"]


def test_bash_files(tmp_path):
    (tmp_path / "model.onnx").touch()
    assert bash("amp-opt", f"{tmp_path}/mo") == [f"{tmp_path}/model.onnx"]


@needs("fish")
@pytest.mark.parametrize("line,expected", [("amp-opt --emit=ml", ["--emit=mlir", "--emit=mlirbc"]), ("amp-run inf", ["infer", "info"]),
                                           ("amp-compile --data-p", ["--data-parallel"])])
def test_fish(line, expected, tmp_path):
    tool = line.split()[0]
    process = run("fish", "--no-config", "-c", f"source {FILES}/fish/{tool}.fish; complete -C '{line}'", env={**os.environ, "HOME": str(tmp_path)})
    assert [row.split("\t")[0] for row in process.stdout.splitlines()] == expected, process.stderr


@needs("zsh")
@pytest.mark.parametrize("tool", ["amp-opt", "amp-compile", "amp-run"])
def test_zsh(tool):
    assert run("zsh", "-f", "-n", FILES / f"zsh/_{tool}").returncode == 0
    # _arguments is given whole words, one for each option.
    process = run("zsh", "-f", "-c", f"_arguments() {{ print -l -- $@ }}; source {FILES}/zsh/_{tool}")
    specs = process.stdout.splitlines()
    assert process.returncode == 0 and "*:file:_files" == specs[-1] and any(spec.startswith("-o") for spec in specs)
