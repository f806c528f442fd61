"""The report as text. The part on decisions is, letter for letter, what amp-opt writes (lib/Dialect/Amp/Transforms/WriteReport.cpp)."""


def _bytes(count):
    units = ["B", "KiB", "MiB", "GiB", "TiB"]
    size, unit = float(count), 0
    while size >= 1024 and unit + 1 < len(units):
        size, unit = size / 1024, unit + 1
    return f"{size:.1f} {units[unit]}" if unit else f"{size:.0f} B"


def _plural(count, word):
    return f"{count} {word}{'' if count == 1 else 's'}"


def _types(types):
    return "(" + ", ".join(kind or "_" for kind in types) + ")"


def _summary(summary):
    moved, kept = summary["bytes"], summary["constant_bytes"]
    return [f"{_plural(summary['ops'], 'op')}: {summary['narrow']} narrow, {summary['wide']} in float32, {summary['kept']} keep their types",
            f"{_plural(summary['casts'], 'cast')} added, {summary['casts_removed']} removed; {_plural(summary['constants_narrowed'], 'constant')} narrowed, "
            f"{summary['constants_changed']} of them changed beyond rounding",
            f"the ops read and write {_bytes(moved['after'])} of floats, before {_bytes(moved['before'])}; "
            f"constants take {_bytes(kept['after'])}, before {_bytes(kept['before'])}"]


def _constant(constant):
    lost = (f"{constant['clamped']} clamped" if constant["clamped"] else
            f"{constant['overflowed']} became infinite, {constant['flushed']} became zero")
    return f"  '{constant['name']}': of {_plural(constant['elements'], 'value')} in {constant['type']}, {lost}"


def _op(op):
    line = f"  {op['name']}: {op['op']} {_types(op['operands'])} -> {_types(op['results'])}, {op['class']}, {op['rule']}"
    if op.get("by"):
        line += f" by '{op['by']}'"
    if op["casts"]:
        line += f", {_plural(op['casts'], 'cast')}"
    line += f", {_bytes(op['bytes']['before'])}"
    if op["bytes"]["after"] != op["bytes"]["before"]:
        line += f" to {_bytes(op['bytes']['after'])}"
    return line + (f": {op['note']}" if op.get("note") else "")


def _autocast(report):
    lines = _summary(report["summary"])
    if report["constants"]:
        lines += ["", "constants that changed beyond rounding:", *map(_constant, report["constants"])]
    return lines + ["", "ops (operand types -> result types, class, rule, bytes: why):", *map(_op, report["ops"])]


def _lint(lint):
    findings = lint["findings"]
    return [f"{_plural(len(findings), 'lint finding')}", *(f"  {finding['message']} [{finding['rule']}]" for finding in findings)]


def _compile(report):
    seconds = report["seconds"]
    return [f"compiled in {seconds.get('total', 0):.2f} s: " + ", ".join(f"{name} {time:.2f} s" for name, time in seconds.items() if name != "total"),
            *(f"  entry {entry['name']}: arena {_bytes(entry['workspace'])}" for entry in report["entries"])]


def _log(rows):
    if not rows:
        return ["no step was run"]
    last, skipped = rows[-1], [row for row in rows if row.get("skipped")]
    lines = [f"{_plural(len(rows), 'step')}, {len(skipped)} skipped; loss {rows[0]['loss']} at first, {last['loss']} at last; scale {last.get('scale')}"]
    culprits = {}
    for row in skipped:
        if row.get("first_non_finite"):
            culprits[row["first_non_finite"]] = culprits.get(row["first_non_finite"], 0) + 1
    return lines + [f"  not finite first: {name}, in {_plural(count, 'step')}" for name, count in culprits.items()]


def write_text(parts):
    """The text of all parts that are there, each after an empty line."""
    writers = {"autocast": _autocast, "lint": _lint, "compile": _compile, "log": _log}
    return "\n".join("\n".join(writers[name](parts[name])) + "\n" for name in writers if name in parts)
