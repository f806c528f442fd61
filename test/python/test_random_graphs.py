"""Random graphs, bodies included: the result verifies, a second run changes nothing, and no value is rounded between two wide ops."""
import random
import re

import pytest

from harness import FULL, amp_opt, autocast_option

T, ROW, PAIR, COLUMN, SCALAR = (f"tensor<{shape}f32>" for shape in ("4x4x", "4x", "8x4x", "4x1x", ""))
HALF, INTS, IDS = "tensor<4x4xf16>", "tensor<4x4xi64>", "tensor<4xi64>"
FLAG, COUNT, AXIS = "tensor<i1>", "tensor<i64>", "tensor<1xi64>"
CONSTANTS = {"%w": f"dense<0.5> : {T}", "%half": f"dense<0.5> : {SCALAR}", "%eps": f"dense<1.0e-6> : {SCALAR}",
             "%big": f"dense<-1.0e9> : {SCALAR}", "%bias": f"dense<0.25> : {ROW}", "%huge": f"dense<1.0e5> : {T}",
             "%axis": f"dense<-1> : {AXIS}", "%true": f"dense<true> : {FLAG}"}
UNARY = "Abs Exp Floor Identity Log Neg Relu Sigmoid Softmax Sqrt Tanh Transpose".split()
BINARY = "Add Div Max Mul Sub".split()
BODIES = ["If", "Loop"]
OTHER = ["MatMul"] * 4 + ["Bias", "Clip", "Concat", "FromInts", "Gather", "Gemm", "Guard", "Mask", "Mean", "Norm", "Pow", "Rounded", "Table", "Users"]


class Graph:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines, self.count = [], 0
        values = ["%x", "%z"]
        for _ in range(self.random.randint(3, 25)):
            values.append(self.step(values[-8:], 0))
        outputs = [values[-1], self.random.choice(values[2:])]
        constants = [f"{name} = onnx.initializer {value}" for name, value in CONSTANTS.items()]
        self.text = "\n".join([f"func.func @g(%x: {T}, %z: {T}, %ids: {IDS}, %ints: {INTS}, %c: {FLAG}, %n: {COUNT}) -> ({T}, {T}) {{",
                               *constants, *self.lines, f"return {', '.join(outputs)} : {T}, {T}", "}"])

    def new(self):
        self.count += 1
        return f"%v{self.count}"

    def op(self, name, operands, types, result=T, attributes=""):
        value = self.new()
        self.lines.append(f'{value} = onnx.{name}({", ".join(operands)}) {{onnx.name = "n{self.count}"{attributes}}} : ({", ".join(types)}) -> {result}')
        return value

    def body(self, values, depth):
        values = list(values)
        for _ in range(self.random.randint(1, 3)):
            values.append(self.step(values, depth + 1))
        return values

    def step(self, values, depth):
        """Adds one op, or a few that belong together; gives the value."""
        kind = self.random.choice(UNARY + 2 * BINARY + OTHER + (BODIES if depth < 2 else []))
        x, y = self.random.choice(values), self.random.choice(values)
        if kind in UNARY:
            return self.op(kind, [x], [T])
        if kind in BINARY:
            return self.op(kind, [x, y], [T, T])
        return getattr(self, "add_" + kind.lower())(x, y, values, depth)

    def add_matmul(self, x, y, values, depth):
        return self.op("MatMul", [x, self.random.choice([y, "%w", "%huge"])], [T, T])

    def add_gemm(self, x, y, values, depth):
        return self.op("Gemm", [x, y, "%bias"], [T, T, ROW])

    def add_bias(self, x, y, values, depth):
        return self.op("Add", [x, "%bias"], [T, ROW])

    def add_clip(self, x, y, values, depth):
        return self.op("Clip", [x, "%half", "%half"], [T, SCALAR, SCALAR])

    def add_pow(self, x, y, values, depth):
        return self.op("Pow", [x, "%half"], [T, SCALAR])

    def add_guard(self, x, y, values, depth):
        return self.op("Div", [y, self.op("Add", [x, "%eps"], [T, SCALAR])], [T, T])

    def add_mask(self, x, y, values, depth):
        return self.op("Where", ["%c", x, "%big"], [FLAG, T, SCALAR])

    def add_norm(self, x, y, values, depth):
        return self.op("LayerNormalization", [x, "%bias", "%bias"], [T, ROW, ROW])

    def add_mean(self, x, y, values, depth):
        reduced = self.op("Reduce" + self.random.choice(["Mean", "Sum"]), [x, "%axis"], [T, AXIS], COLUMN)
        return self.op(self.random.choice(BINARY), [y, reduced], [T, COLUMN])

    def add_concat(self, x, y, values, depth):
        pair = self.op("Concat", [x, y], [T, T], PAIR, ", axis = 0 : i64")
        return self.op("Gather", [pair, "%ids"], [PAIR, IDS])

    def add_gather(self, x, y, values, depth):
        return self.op("Gather", [self.random.choice([x, "%huge"]), "%ids"], [T, IDS])

    def add_table(self, x, y, values, depth):
        return self.op("Transpose", [self.random.choice(["%w", "%huge"])], [T])

    def add_fromints(self, x, y, values, depth):
        return self.op("Cast", ["%ints"], [INTS], T, ", to = 1 : i64")

    def add_rounded(self, x, y, values, depth):
        half = self.op("Cast", [x], [T], HALF, ", to = 10 : i64")
        return self.op("Cast", [half], [HALF], T, ", to = 1 : i64")

    def add_users(self, x, y, values, depth):
        half = self.op("Cast", [x], [T], HALF, ", to = 10 : i64")
        return self.op("Cast", [self.op("MatMul", [half, half], [HALF, HALF], HALF)], [HALF], T, ", to = 1 : i64")

    def add_if(self, x, y, values, depth):
        value = self.new()
        self.lines.append(f"{value} = onnx.If(%c) ({{")
        self.lines.append(f"onnx.yield {self.body(values, depth)[-1]} : {T}\n}}, {{")
        self.lines.append(f"onnx.yield {self.body(values, depth)[-1]} : {T}\n}}) : ({FLAG}) -> {T}")
        return value

    def add_loop(self, x, y, values, depth):
        value = self.new()
        name = value[1:]
        self.lines.append(f"{value}:2 = onnx.Loop(%n, %true, {x}) ({{\n^bb0(%i{name}: {COUNT}, %c{name}: {FLAG}, %a{name}: {T}):")
        inner = self.body([*values, f"%a{name}"], depth)
        self.lines.append(f"onnx.yield %c{name}, {inner[-1]}, {self.random.choice(inner)} : {FLAG}, {T}, {T}")
        self.lines.append(f"}}) : ({COUNT}, {FLAG}, {T}) -> ({T}, tensor<?x4x4xf32>)")
        return value + "#0"


def shape(text):
    """The ops of a graph without their order, and without empty attributes."""
    return sorted(re.sub(r"%[\w#:]+", "%", line.replace("{} ", "")) for line in text.splitlines())


def as_exported(text):
    """In a file the tool's casts are casts like any other."""
    code = {"f32": 1, "f16": 10, "bf16": 16}
    return re.sub(r"amp\.cast (%\w+)(?: clamp)?(?: \{(.*?)\})? : (\S+) to (tensor<\S*?(b?f\d+)>)",
                  lambda m: f"onnx.Cast({m[1]}) {{{m[2] + ', ' if m[2] else ''}to = {code[m[5]]} : i64}} : ({m[3]}) -> {m[4]}", text)


def convert(texts, path, option):
    path.write_text("\n// -----\n".join(texts))
    run = amp_opt(path, option, "--split-input-file", "--mlir-print-unique-ssa-ids")
    assert run.ok, run.describe()
    results = [text.strip() for text in run.stdout.split("// -----")]
    assert len(results) == len(texts)
    return results


OPTIONS = [("f16", {}), ("bf16", {}), ("f16", {"policy": "torch-cuda"}), ("bf16", {"policy": "torch-cpu"}), ("f16", {"policy": "contractions"}),
           ("f16", {"deny": "MatMul"}), ("f16", {"lossy_constants": "clamp"}), ("bf16", {"deny": "Softmax,Relu", "allow": "Exp"})]


@pytest.mark.parametrize("dtype, options", OPTIONS, ids=lambda value: value if isinstance(value, str) else "-".join(value.values()) or "default")
def test_random_graphs(tmp_path, dtype, options):
    option = autocast_option(dtype, **options)
    sources = [Graph(seed).text for seed in range(400 if FULL else 40)]
    first = convert(sources, tmp_path / "source.mlir", option)
    exported = [as_exported(text) for text in first]
    second = convert(exported, tmp_path / "first.mlir", option)
    for seed, (once, again, twice) in enumerate(zip(first, exported, second)):
        assert shape(again) == shape(twice), f"seed {seed}"
        narrowed = set(re.findall(r"(%\w+) = amp.cast %\S+ .*to tensor<\S*xb?f16>", once))
        widened = set(re.findall(r"amp.cast (%\w+) .*to tensor<\S*xf32>", once))
        assert not narrowed & widened, f"seed {seed}"
