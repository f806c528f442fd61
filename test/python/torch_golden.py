"""Writes the rows of test/golden/torch-autocast.json as functions of one MLIR module per policy and autocast type.

A float32 operand is a function argument. A half operand is what PRelu, which every torch policy narrows, gives in a region of that type,
so the model itself holds no half types. A row with float64 operands has float64 for T."""
import json
import re
from collections import defaultdict
from dataclasses import dataclass

from harness import ROOT, SHARED

GOLDEN = ROOT / "test" / "golden"
REFERENCE = SHARED / "reference" / "torch_autocast_golden_dtypes.json"
HALF = ("f16", "bf16")
# A complex value is a pair of float32 in ONNX.
SHORT = {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64", "int64": "i64", "bool": "i1", "complex64": "f32"}


@dataclass
class Row:
    """One row: where it comes from, the types of its float operands, the type of its result."""
    source: str
    device: str
    low: str
    operands: list
    result: str
    entry: dict

    def __str__(self):
        return f"{self.source} on {self.device}, {self.low} region: {' '.join(self.operands)} -> {self.result}"


def source_of(entry):
    explicit = f" dtype={entry['explicit_dtype']}" if "explicit_dtype" in entry else ""
    return entry.get("aten", entry.get("expression")) + explicit


def load(name):
    return json.loads((GOLDEN / f"{name}.json").read_text())["entries"]


def rows():
    """Every row of the golden file."""
    for entry in load("torch-autocast"):
        for low, texts in entry["rows"].items():
            for text in texts:
                operands, result = text.split("->")
                yield Row(source_of(entry), entry["device"], low, operands.split(), result.strip(), entry)


def batches():
    """(device, autocast type) -> its rows."""
    result = defaultdict(list)
    for row in rows():
        result[row.device, row.low].append(row)
    return dict(result)


def _tensor(text, base):
    return f"tensor<{re.sub('T$', base, text)}>"


def _half_operand(value, source, shape, half, low):
    """Makes `value`, which reaches its users as `half`, out of the float32 `source`."""
    kind = _tensor(shape, "f32")
    narrow = f"onnx.PRelu({source}, {source}) : ({kind}, {kind}) -> {kind}"
    if half == low:
        return [f"{value} = {narrow}"]
    return [f"{value} = amp.autocast dtype = {half} -> {kind} {{", f"  %half = {narrow}", f"  amp.yield %half : {kind}", "}"]


def function(name, row):
    """The row as a function whose last operator is named "result"."""
    base = "f64" if "f64" in row.operands else "f32"
    arguments, body, types, values = [], [], {}, {}
    wanted = iter(row.operands)
    for index, text in enumerate(row.entry["operands"]):
        key, argument, kind = str(index), f"%arg{index}", _tensor(text, base)
        arguments.append(f"{argument}: {kind}")
        element = next(wanted) if text.endswith("T") else None
        types[key], values[key] = kind, f"%in{index}" if element in HALF else argument
        if element in HALF:
            body += _half_operand(values[key], argument, text, element, row.low)
    nodes = row.entry["graph"]
    for position, (op, inputs, outputs, *attributes) in enumerate(nodes):
        letter, kinds = chr(ord("a") + position), [_tensor(text, base) for text in outputs.split()]
        for number, kind in enumerate(kinds):
            key = f"{letter}#{number}" if len(kinds) > 1 else letter
            types[key], values[key] = kind, f"%{key}"
        inputs = inputs.split()
        extra = [re.sub("T>", f"{base}>", text) for text in attributes]
        extra += ['onnx.name = "result"'] if position == len(nodes) - 1 else []
        target = f"%{letter}" + (f":{len(kinds)}" if len(kinds) > 1 else "")
        operands = ", ".join(values.get(key, "_") for key in inputs)
        signature = f"({', '.join(types.get(key, '_') for key in inputs)}) -> {kinds[0] if len(kinds) == 1 else '(' + ', '.join(kinds) + ')'}"
        braces = f" {{{', '.join(extra)}}}" if extra else ""
        body.append(f"{target} = onnx.{op}({operands}){braces} : {signature}")
    lines = "\n".join(f"  {line}" for line in body)
    return f"func.func @{name}({', '.join(arguments)}) -> {kinds[0]} {{\n{lines}\n  return %{letter} : {kinds[0]}\n}}\n"


def module(batch):
    """All rows of a batch as functions @row0, @row1, ..."""
    return "\n".join(function(f"row{index}", row) for index, row in enumerate(batch))


def result_types(text):
    """Element type that the operator named "result" has in each function of a printed module, by function name."""
    found, current = {}, None
    for line in text.splitlines():
        if match := re.search(r"func\.func @(\w+)\(", line):
            current = match.group(1)
        if 'onnx.name = "result"' in line:
            found[current] = re.search(r"(?:[x<])([a-z]+\d+)(?:, #onnx[^>]*>)?>\)?$", line.strip()).group(1)
    return found
