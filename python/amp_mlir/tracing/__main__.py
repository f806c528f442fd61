"""python -m amp_mlir.tracing --list: the overloads that can be traced."""

import argparse

from . import rules  # noqa: F401 (fills the table)
from .registry import RULES


def table() -> str:
    """One line for each overload: its name, and how it is written."""
    kinds = {True: "view", False: ""}
    lines = []
    for name, rule in sorted(RULES.items()):
        notes = [kinds[rule.inverse is not None], "composite" if rule.composite else "", "state" if rule.effect else ""]
        lines.append(f"{name:45} {rule.function.__module__.rsplit('.', 1)[1]:15} {' '.join(n for n in notes if n)}".rstrip())
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(prog="python -m amp_mlir.tracing", description="What amp_mlir can trace.")
    parser.add_argument("--list", action="store_true", required=True, help="list the aten overloads that have a rule")
    parser.parse_args()
    print(table())


if __name__ == "__main__":
    main()
