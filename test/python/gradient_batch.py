"""Differentiates many small models in one run of amp-opt and evaluates values and gradients with the ONNX reference implementation.

A case is one operator with its operands. A batch is one model of all cases, whose loss is the sum over the cases of <output, cotangent>."""
import math
import subprocess
import tempfile
import zlib
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

from harness import amp_opt_path

OPSET = 24
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def erf(x):
    return np.vectorize(math.erf, otypes=["d"])(x).astype(x.dtype).reshape(x.shape)


class Erf(OpRun):
    """The reference implementation's Erf is float32 even for float64."""

    def _run(self, x):
        return (erf(x),)


class Gelu(OpRun):
    """Likewise."""

    def _run(self, x, approximate=None):
        if approximate == "tanh":
            return (0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),)
        return (0.5 * x * (1 + erf(x / math.sqrt(2))),)


class Evaluator:
    """Runs a model with the reference implementation, or with ONNX Runtime where that lacks forms of operators."""

    def __init__(self, model, engine="reference", operators=(Erf, Gelu)):
        if engine == "reference":
            self.session = ReferenceEvaluator(model, new_ops=list(operators))
        else:
            import onnxruntime
            options = onnxruntime.SessionOptions()
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
            options.intra_op_num_threads = 1
            options.log_severity_level = 3
            self.session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])

    def run(self, names, feeds):
        with np.errstate(all="ignore"):
            return self.session.run(names, feeds)


def rng_of(*names):
    """A generator that depends on the names alone."""
    return np.random.default_rng(zlib.crc32(" ".join(map(str, names)).encode()))


@dataclass
class Case:
    """`operands` in the operator's order: arrays; those named in `wrt` (default: all of float type) are differentiated. None: absent.

    `smooth`: finite differences hold at these values. `torch`: a function of the operands as tensors, for the same outputs.
    `expected`: gradients known in closed form, by operand number. `cotangents`: of the outputs (default: random)."""
    name: str
    op: str
    operands: list
    attributes: dict = field(default_factory=dict)
    outputs: int = 1
    wrt: tuple = None
    constant: tuple = ()
    smooth: bool = True
    torch: object = None
    expected: dict = None
    cotangents: list = None
    only: tuple = None  # outputs that the loss depends on

    def __post_init__(self):
        self.operands = [None if v is None else np.asarray(v) for v in self.operands]
        if self.wrt is None:
            self.wrt = tuple(i for i, v in enumerate(self.operands) if v is not None and v.dtype.kind == "f" and i not in self.constant)

    def __str__(self):
        return self.name

    def with_type(self, dtype):
        """The case with float operands rounded to `dtype` and kept there."""
        operands = [v.astype(dtype) if v is not None and (v.dtype.kind == "f" or v.dtype == BFLOAT16) else v for v in self.operands]
        return Case(self.name, self.op, operands, self.attributes, self.outputs, self.wrt, self.constant, self.smooth, None, None,
                    self.cotangents, self.only)


@dataclass
class Result:
    """What one case gave: gradients by operand number, loss, or why there is none."""
    gradients: dict = None
    outputs: list = None
    cotangents: list = None
    difference: tuple = None  # directional derivative by the gradients, by finite differences, scale of rounding errors
    error: str = None


class Batch:
    """The model of some cases. `entries`: (case number, operands differentiated), default each case with all of them. `scale`: of the cotangents."""

    def __init__(self, cases, entries=None, engine="reference", scale=1.0):
        self.cases, self.engine, self.scale = cases, engine, scale
        self.entries = entries or [(i, case.wrt) for i, case in enumerate(cases)]
        self.nodes, self.inputs, self.initializers, self.feeds = [], [], [], {}
        for number, (i, wrt) in enumerate(self.entries):
            self._add(number, cases[i], wrt)

    def _add(self, number, case, wrt):
        names = []
        for i, value in enumerate(case.operands):
            name = "" if value is None else f"c{number}_{i}"
            names.append(name)
            if value is None:
                continue
            if i in case.wrt:
                self.inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape))
                self.feeds[name] = value
            else:
                self.initializers.append(onnx.numpy_helper.from_array(value, name))
        outputs = [f"o{number}_{j}" for j in range(case.outputs)]
        self.nodes.append(helper.make_node(case.op, names, outputs, name=f"{case.name}_{number}", **case.attributes))

    def used_outputs(self, number):
        case = self.cases[self.entries[number][0]]
        return [j for j in range(case.outputs) if case.only is None or j in case.only]

    def _model(self, nodes, outputs):
        graph = helper.make_graph(nodes, "gradients", self.inputs, outputs, self.initializers)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)

    def forward(self):
        """The output arrays of each entry."""
        names = [[f"o{n}_{j}" for j in range(self.cases[i].outputs)] for n, (i, _) in enumerate(self.entries)]
        infos = [onnx.ValueInfoProto(name=name) for group in names for name in group]
        values = iter(Evaluator(self._model(self.nodes, infos), self.engine).run(None, self.feeds))
        return [[next(values) for _ in group] for group in names]

    def build(self):
        """The model with the loss; remembers cotangents."""
        self.values, self.cotangents = self.forward(), []
        nodes, losses = list(self.nodes), []
        double = onnx.TensorProto.DOUBLE
        for number, (i, _) in enumerate(self.entries):
            case, parts, mine = self.cases[i], [], {}
            for j in self.used_outputs(number):
                value = self.values[number][j]
                cotangent = np.asarray(case.cotangents[j] if case.cotangents else rng_of(case.name, j).standard_normal(value.shape))
                mine[j] = cotangent = np.broadcast_to(cotangent.astype(value.dtype), value.shape).astype(np.float64) * self.scale
                self.initializers.append(onnx.numpy_helper.from_array(np.array(cotangent), f"r{number}_{j}"))
                nodes += [helper.make_node("Cast", [f"o{number}_{j}"], [f"d{number}_{j}"], to=double),
                          helper.make_node("Mul", [f"d{number}_{j}", f"r{number}_{j}"], [f"p{number}_{j}"]),
                          helper.make_node("ReduceSum", [f"p{number}_{j}"], [f"s{number}_{j}"], keepdims=0)]
                parts.append(f"s{number}_{j}")
            self.cotangents.append(mine)
            nodes.append(helper.make_node("Sum", parts, [f"loss{number}"]))
            losses.append(f"loss{number}")
        nodes.append(helper.make_node("Sum", losses, ["loss"]))
        self.loss_names = losses
        return self._model(nodes, [helper.make_tensor_value_info(name, double, []) for name in ["loss", *losses]])

    def wrt_names(self):
        return [f"c{number}_{i}" for number, (_, wrt) in enumerate(self.entries) for i in wrt]

    def run(self, passes=()):
        """Results of the entries, all at once."""
        model = self.build()
        differentiated = differentiate(model, self.wrt_names(), passes)
        names = [f"grad.{name}" for name in self.wrt_names()]
        gradients = dict(zip(names, Evaluator(differentiated, self.engine).run(names, self.feeds)))
        return [Result({i: gradients[f"grad.c{number}_{i}"] for i in wrt}, self.values[number], self.cotangents[number])
                for number, (_, wrt) in enumerate(self.entries)]

    def finite_differences(self, results, step=1e-6):
        """Fills in `difference` of each result: central difference along one random direction, all entries at once."""
        model = self.build()
        session = Evaluator(model, self.engine)
        directions = {name: np.asarray(rng_of(name).standard_normal(value.shape), value.dtype) for name, value in self.feeds.items()}
        moved = [session.run(self.loss_names, {n: np.asarray(v + v.dtype.type(sign * step) * directions[n]) for n, v in self.feeds.items()})
                 for sign in (1, -1)]
        for number, (result, above, below) in enumerate(zip(results, *moved)):
            if not self.cases[self.entries[number][0]].smooth:
                continue
            products = [g.astype(np.float64) * directions[f"c{number}_{i}"] for i, g in result.gradients.items()]
            size = abs(float(above)) + sum(float(np.abs(p).sum()) for p in products)
            result.difference = (sum(float(p.sum()) for p in products), float(above - below) / (2 * step), size)


def differentiate(model, wrt, passes=()):
    """The model with gradients, as an ONNX model again."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "m.onnx", Path(folder) / "g.onnx"
        onnx.save(model, source)
        command = [amp_opt_path(), source, *passes, f"--train-differentiate=loss=loss wrt={','.join(wrt)}", "--decompose-train=to-onnx", "-o", target]
        run = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        if run.returncode:
            raise RuntimeError(run.stderr.strip() or f"exit code {run.returncode}")
        return onnx.load(target)


def run_cases(cases, passes=(), differences=True, engine="reference"):
    """A result for each case; one that fails does not take the others with it."""
    try:
        batch = Batch(cases, engine=engine)
        results = batch.run(passes)
        if differences:
            batch.finite_differences(results)
        return results
    except Exception as error:  # whatever a case of the batch made amp-opt or the evaluator say
        if len(cases) == 1:
            return [Result(error=f"{type(error).__name__}: {error}")]
        half = len(cases) // 2
        return [result for part in (cases[:half], cases[half:]) for result in run_cases(part, passes, differences, engine)]


def subsets(cases):
    """Every smaller set of operands to differentiate, as entries of a batch."""
    return [(i, subset) for i, case in enumerate(cases) for size in range(1, len(case.wrt)) for subset in combinations(case.wrt, size)]
