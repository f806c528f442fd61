"""Runs a model in ONNX Runtime or in the onnx reference evaluator, and compares what came out."""
import numpy as np
import onnx
from onnx import TensorProto

from workers import stage


class CannotRun(Exception):
    """The engine does not run this model: no kernel, an unknown op, an invalid model."""


class CannotLoad(CannotRun):
    """No inputs will help: the model as such is refused."""


#: Ops whose result is drawn at random, so that two models cannot be compared.
RANDOM_OPS = {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli", "Multinomial", "Dropout"}


def _onnx_type(array):
    from onnx import helper
    return helper.np_dtype_to_tensor_dtype(array.dtype)


def _ort_value(ort, value):
    """What ORT's binding takes for a feed; types numpy lacks go in by their ONNX number."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "V":
        return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(value, _onnx_type(value))
    return value


def ort_session(model, optimise):
    import onnxruntime as ort
    ort.set_default_logger_severity(4)
    ort.set_seed(7)
    options = ort.SessionOptions()
    options.graph_optimization_level = {
        "off": ort.GraphOptimizationLevel.ORT_DISABLE_ALL, "extended": ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
        "all": ort.GraphOptimizationLevel.ORT_ENABLE_ALL}[optimise]
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    source = model.SerializeToString() if isinstance(model, onnx.ModelProto) else str(model)
    try:
        return ort.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise CannotLoad(f"ONNX Runtime does not load it: {str(error)[:300]}") from None


def run_ort(model, feeds, optimise="off"):
    """Outputs by name. `model` is a path or a ModelProto."""
    import onnxruntime as ort
    stage(f"loading in ONNX Runtime (optimisation {optimise})")
    session = ort_session(model, optimise)
    names = [output.name for output in session.get_outputs()]
    wanted = {value.name for value in session.get_inputs()} | {value.name for value in session.get_overridable_initializers()}
    feeds = {name: value for name, value in feeds.items() if name in wanted}
    stage(f"running in ONNX Runtime (optimisation {optimise})")
    try:
        values = {name: _ort_value(ort, value) for name, value in feeds.items()}
        if any(isinstance(value, ort.OrtValue) for value in values.values()):
            values = {name: value if isinstance(value, ort.OrtValue) else ort.OrtValue.ortvalue_from_numpy(value)
                      for name, value in values.items()}
            results = [value.numpy() for value in session.run_with_ort_values(names, values)]
        else:
            results = session.run(names, values)
    except Exception as error:
        raise CannotRun(f"ONNX Runtime does not run it: {str(error)[:300]}") from None
    finally:
        stage("")
    return dict(zip(names, results))


def run_reference(model, feeds):
    """Outputs by name, from onnx.reference."""
    from onnx.reference import ReferenceEvaluator
    stage("running in the reference evaluator")
    model = model if isinstance(model, onnx.ModelProto) else onnx.load(str(model))
    inputs = {value.name for value in model.graph.input}
    try:
        with np.errstate(all="ignore"):
            results = ReferenceEvaluator(model).run(None, {k: v for k, v in feeds.items() if k in inputs})
    except Exception as error:
        raise CannotRun(f"the reference evaluator does not run it: {type(error).__name__}: {str(error)[:200]}") from None
    finally:
        stage("")
    return dict(zip([output.name for output in model.graph.output], results))


def _graphs(graph):
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for body in [attribute.g] if attribute.type == onnx.AttributeProto.GRAPH else attribute.graphs:
                yield from _graphs(body)


def is_random(model):
    return any(node.op_type in RANDOM_OPS for graph in _graphs(model.graph) for node in graph.node) or any(
        node.op_type in RANDOM_OPS for function in model.functions for node in function.node)


def first_difference(left, right, path=""):
    """Where two results differ bit by bit, or None. Lists, dictionaries and None compare by structure."""
    if isinstance(left, dict) and isinstance(right, dict):
        if list(left) != list(right):
            return f"{path}: names {list(left)} against {list(right)}"
        return next((d for k in left if (d := first_difference(left[k], right[k], f"{path}/{k}"))), None)
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        if len(left) != len(right):
            return f"{path}: {len(left)} against {len(right)} elements"
        return next((d for i, (a, b) in enumerate(zip(left, right)) if (d := first_difference(a, b, f"{path}/{i}"))), None)
    if left is None or right is None:
        return None if left is right else f"{path}: one side is empty"
    left, right = np.asarray(left), np.asarray(right)
    if left.dtype != right.dtype or left.shape != right.shape:
        return f"{path}: {left.dtype}{list(left.shape)} against {right.dtype}{list(right.shape)}"
    same = np.array_equal(left, right) if left.dtype.kind in "OUS" else left.tobytes() == right.tobytes()
    if same:
        return None
    unequal = (left != right) & ~((left != left) & (right != right)) if left.dtype.kind in "OUS" else (
        np.frombuffer(left.tobytes(), np.uint8).reshape(left.size, -1) != np.frombuffer(right.tobytes(), np.uint8).reshape(
            left.size, -1)).any(axis=1).reshape(left.shape)
    where = tuple(int(i) for i in np.argwhere(unequal)[0]) if np.any(unequal) else ()
    return f"{path}{list(where)}: {left[where]!r} against {right[where]!r} ({int(np.sum(unequal))} of {left.size} differ)"


def error_of(reference, result):
    """(largest error over the largest finite magnitude of the reference, largest error, problem or None) over float outputs.

    Other outputs and the pattern of NaN and infinity must be equal."""
    relative = absolute = 0.0
    for name, expected in reference.items():
        got = result.get(name)
        pairs = list(zip(expected, got)) if isinstance(expected, list) else [(expected, got)]
        for want, have in pairs:
            if want is None and have is None:
                continue
            want, have = np.asarray(want), np.asarray(have)
            if want.dtype != have.dtype or want.shape != have.shape:
                return relative, absolute, f"output '{name}' is {have.dtype}{list(have.shape)}, but was {want.dtype}{list(want.shape)}"
            if want.dtype.kind in "OUSbiu" and want.dtype.kind != "V":
                if not np.array_equal(want, have):
                    return relative, absolute, f"output '{name}' of type {want.dtype} differs in {int(np.sum(want != have))} of {want.size} elements"
                continue
            want, have = want.astype(np.float64), have.astype(np.float64)
            special = ~np.isfinite(want)
            with np.errstate(invalid="ignore"):
                if not np.array_equal(want[special], have[special], equal_nan=True):
                    return relative, absolute, f"output '{name}': NaN or infinity of the float32 run is not kept"
            if not np.all(np.isfinite(have[~special])):
                bad = int(np.sum(~np.isfinite(have[~special])))
                return relative, absolute, f"output '{name}': {bad} of {have.size} elements are no longer finite"
            if want[~special].size:
                error = float(np.max(np.abs(want - have)[~special]))
                scale = float(np.max(np.abs(want[~special])))
                absolute = max(absolute, error)
                relative = max(relative, error / scale if scale else (0.0 if error == 0 else np.inf))
    return relative, absolute, None


def float_graph_types(model):
    """Element types of every value of a model, by name, after inference."""
    inferred = onnx.shape_inference.infer_shapes(model)
    types = {t.name: t.data_type for t in inferred.graph.initializer}
    for value in [*inferred.graph.input, *inferred.graph.output, *inferred.graph.value_info]:
        types[value.name] = value.type.tensor_type.elem_type
    return types


def uses_type(model, elem_type):
    """Whether a tensor, value or Cast of the model has this element type."""
    for graph in _graphs(model.graph):
        if any(t.data_type == elem_type for t in graph.initializer):
            return True
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.name in ("to", "dtype", "stash_type", "output_dtype") and attribute.i == elem_type:
                    return True
                if attribute.type == onnx.AttributeProto.TENSOR and attribute.t.data_type == elem_type:
                    return True
    return any(v.type.tensor_type.elem_type == elem_type for v in [*model.graph.input, *model.graph.output])


BF16 = TensorProto.BFLOAT16
