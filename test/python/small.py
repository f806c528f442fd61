"""Small models written as text, converted by amp-opt, checked against every demand, run, and looked at."""
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import structure
from harness import amp_opt, autocast

F32, F16, BF16 = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16
NARROW = {"f16": F16, "bf16": BF16}
#: Relative error allowed where a case names no other: half a unit of the type's mantissa, some roundings deep.
STEP = {"f16": 2.0**-9, "bf16": 2.0**-7}


def tensor(value, name, elem_type=None):
    """A TensorProto; plain numbers and lists are float32."""
    array = np.asarray(value)
    if elem_type is None and array.dtype == np.float64 and not isinstance(value, np.ndarray) and not isinstance(value, np.generic):
        array = array.astype(np.float32)
    return numpy_helper.from_array(array, name)


def model(text, inits=None, opset=17, ir=8):
    """A model from ONNX text syntax: `g (float[1,2] X) => (float[1,2] Y) { Y = Relu(X) }`, with initializers by name."""
    proto = onnx.parser.parse_model(f'<ir_version: {ir}, opset_import: ["" : {opset}]>\n{text}')
    for name, value in (inits or {}).items():
        proto.graph.initializer.append(value if isinstance(value, TensorProto) else tensor(value, name))
    return proto


def node_producing(graph_or_model, name):
    graph = getattr(graph_or_model, "graph", graph_or_model)
    return next((n for g in structure.all_graphs(graph) for n in g.node if name in n.output), None)


def nodes(proto, op_type):
    return [n for g in structure.all_graphs(proto.graph) for n in g.node if n.op_type == op_type]


def same_nodes(have, want):
    """Asserts that two models have the same nodes, field for field."""
    import canonical
    found = canonical.difference([canonical.node_form(n) for n in have.graph.node], [canonical.node_form(n) for n in want.graph.node])
    assert found is None, found


class Converted:
    """The result of a conversion: `model`, `types` by value name, `report`, `stderr`."""

    def __init__(self, source, proto, report, stderr, pool, dtype):
        self.source, self.model, self.report, self.stderr, self.pool, self.dtype = source, proto, report, stderr, pool, dtype
        inferred, refused = structure.strict_inference(proto)
        assert inferred is not None, refused
        self.types = structure.element_types(inferred)

    def run(self, optimise="off", **feeds):
        """Outputs by name, from the engine that has the kernels: bf16 graphs run as their widened copy."""
        return self.pool.call("small.evaluate", self.model.SerializeToString(), feeds, optimise)

    def casts(self, to=None):
        return [n for n in nodes(self.model, "Cast") if to is None or structure.cast_target(n) == to]

    def input_types(self, node):
        return [self.types.get(name) for name in node.input if name]

    def type_of(self, op_type, slot=0):
        """Element type that the only node of this kind reads in a slot."""
        found = nodes(self.model, op_type)
        assert len(found) == 1, f"{len(found)} {op_type} nodes"
        return self.types.get(found[0].input[slot])

    def narrow(self, op_type, slot=0):
        return self.type_of(op_type, slot) in (F16, BF16)


def evaluate(data, feeds, optimise):
    """Runs in a worker: ONNX Runtime, through the widened copy when there is bf16, else the reference evaluator."""
    import engines
    import widen
    proto = onnx.ModelProto.FromString(data)
    runnable = widen.widen(proto) if widen.has_bf16(proto) else proto
    try:
        return engines.run_ort(runnable, feeds, optimise)
    except engines.CannotRun:
        return engines.run_reference(proto, feeds)


class Lower:
    """Callable: lower(model, "f16", **autocast options) -> Converted, after demands 1 to 5 and 7."""

    def __init__(self, pool):
        self.pool = pool

    def evaluate(self, proto, optimise="off", **feeds):
        return self.pool.call("small.evaluate", proto.SerializeToString(), feeds, optimise)

    def file(self, proto, dtype, folder, **options):
        """(run, path of the output) of one conversion, nothing checked."""
        source, target = Path(folder) / "in.onnx", Path(folder) / "out.onnx"
        onnx.save(proto, source)
        return autocast(source, target, dtype, report=Path(folder) / "report.json", **options), target

    def __call__(self, proto, dtype="f16", **options):
        with tempfile.TemporaryDirectory() as folder:
            run, target = self.file(proto, dtype, folder, **options)
            assert run.ok, run.describe()
            result = onnx.load(target)
            problems = structure.check_all(proto, result, said=run.stderr)
            assert not problems, "\n".join(problems)
            again = Path(folder) / "again.onnx"
            second = autocast(target, again, dtype, **options)
            assert second.ok, second.describe()
            found = self.pool.call("judge.same_model", str(target), str(again))
            assert found is None, f"demand 7: a second run changes {found}"
            return Converted(proto, result, run.report, run.stderr, self.pool, dtype)

    def fails(self, proto, dtype="f16", **options):
        """The message of a conversion that must be refused: exit 1, no output."""
        with tempfile.TemporaryDirectory() as folder:
            run, target = self.file(proto, dtype, folder, **options)
            assert run.code == 1 and not run.signal, run.describe()
            assert not target.exists(), "an output was left"
            return run.stderr

    def round_trip(self, proto):
        with tempfile.TemporaryDirectory() as folder:
            source, target = Path(folder) / "in.onnx", Path(folder) / "out.onnx"
            onnx.save(proto, source)
            run = amp_opt(source, "-o", target)
            assert run.ok, run.describe()
            return onnx.load(target)


def close(have, want, relative=0.0, absolute=0.0):
    """Asserts |have - want| <= absolute + relative * |want|, equal infinities, and equal shapes."""
    have, want = np.asarray(have), np.asarray(want)
    assert have.shape == want.shape, f"shape {have.shape}, expected {want.shape}"
    np.testing.assert_allclose(have.astype(np.float64), want.astype(np.float64), rtol=relative, atol=absolute)


def exact(have, want):
    """Asserts equality as float32 (or as whatever type `have` is)."""
    have = np.asarray(have)
    np.testing.assert_array_equal(have, np.asarray(want).astype(have.dtype))


def floats(*values, shape=None):
    array = np.array(values[0] if len(values) == 1 else values, np.float32)
    return array.reshape(shape) if shape is not None else array


def identity(n):
    return np.eye(n, dtype=np.float32)


def make_model(graph, opset=17, ir=8):
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir)
