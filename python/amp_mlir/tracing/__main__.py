"""python -m amp_mlir.tracing --list: the overloads that can be traced."""

import argparse

from . import rules
from .registry import RULES


def _notes(rule):
    notes = [(rule.inverse is not None, "view"), (rule.composite, "composite"), (rule.effect, "state")]
    return ", ".join(note for holds, note in notes if holds)


def table() -> str:
    """One line for each overload: its name, the file of its rule, and what kind of rule that is."""
    rows = [(name, rule.function.__module__.rsplit(".", 1)[1], _notes(rule)) for name, rule in sorted(RULES.items())]
    return "\n".join(f"{name:45} {room:15} {notes}".rstrip() for name, room, notes in rows)


def page() -> str:
    """The same as Markdown, a paragraph for each file of rules: the end of docs/tracing.md."""
    parts = []
    for room in sorted(rules.__all__):
        names = [name.removeprefix("aten.").removesuffix(".default") for name, rule in sorted(RULES.items())
                 if rule.function.__module__.endswith(f".{room}")]
        summary = getattr(rules, room).__doc__.splitlines()[0]
        parts.append(f"### {room} ({len(names)})\n\n{summary}\n\n" + ", ".join(f"`{name}`" for name in names) + "\n")
    return "\n".join(parts)


def main():
    parser = argparse.ArgumentParser(prog="python -m amp_mlir.tracing", description="What amp_mlir can trace.")
    kind = parser.add_mutually_exclusive_group(required=True)
    kind.add_argument("--list", action="store_true", help="list the aten overloads that have a rule")
    kind.add_argument("--markdown", action="store_true", help="the same as the end of docs/tracing.md")
    print(page().rstrip() if parser.parse_args().markdown else table())


if __name__ == "__main__":
    main()
