"""Rewrites a bf16 graph so that ONNX Runtime's CPU kernels run it: every bf16 value is computed in float32 and rounded by a Cast pair.

ONNX Runtime has next to no bf16 kernels on the CPU. Operands are rounded to bf16, each op computes in float32 and its result
is rounded once: what a device with float32 accumulation does.
"""
import onnx
from onnx import AttributeProto, TensorProto, helper, numpy_helper
import numpy as np

BF16, F32 = TensorProto.BFLOAT16, TensorProto.FLOAT


def _widen_tensor(tensor):
    if tensor.data_type != BF16:
        return
    array = numpy_helper.to_array(tensor).astype(np.float32)
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))


def _types_of(graph, known):
    """Element types by name in this graph; value_info of an inferred model is complete."""
    types = dict(known)
    types.update((tensor.name, tensor.data_type) for tensor in graph.initializer)
    for value in [*graph.input, *graph.output, *graph.value_info]:
        if value.type.HasField("tensor_type"):
            types[value.name] = value.type.tensor_type.elem_type
    return types


def _retype(value):
    kind = value.type.WhichOneof("value")
    tensor = value.type.tensor_type if kind == "tensor_type" else (
        value.type.sequence_type.elem_type.tensor_type if kind == "sequence_type" else None)
    if tensor is not None and tensor.elem_type == BF16:
        tensor.elem_type = F32


def _round(name, raw):
    """raw (float32) -> bf16 -> float32 under the old name."""
    return [helper.make_node("Cast", [raw], [raw + "/bf16"], to=BF16), helper.make_node("Cast", [raw + "/bf16"], [name], to=F32)]


def _widen_attributes(node, types):
    for attribute in node.attribute:
        if attribute.name in ("to", "dtype", "output_dtype") and attribute.i == BF16:
            attribute.i = F32
        if attribute.type == AttributeProto.TENSOR:
            _widen_tensor(attribute.t)
        if attribute.type == AttributeProto.GRAPH:
            _widen_graph(attribute.g, types)


def _widen_graph(graph, known):
    types = _types_of(graph, known)
    nodes = []
    for node in graph.node:
        to_bf16 = node.op_type == "Cast" and any(a.name == "to" and a.i == BF16 for a in node.attribute)
        _widen_attributes(node, types)
        narrow = [i for i, name in enumerate(node.output) if name and (types.get(name) == BF16 or (to_bf16 and i == 0))]
        control = node.op_type in ("If", "Loop", "Scan", "SequenceMap")
        tail = []
        # A constant and what control flow yields are rounded already.
        for i in [] if control or node.op_type == "Constant" else narrow:
            name = node.output[i]
            raw = name + "/wide"
            node.output[i] = raw
            tail += _round(name, raw)
        nodes += [node, *tail]
    del graph.node[:]
    graph.node.extend(nodes)
    for tensor in graph.initializer:
        _widen_tensor(tensor)
    for value in [*graph.input, *graph.output]:
        _retype(value)
    del graph.value_info[:]


def widen(model):
    """The widened copy of a model (a ModelProto)."""
    copy = onnx.shape_inference.infer_shapes(model)
    if not any(entry.domain in ("", "ai.onnx") and entry.version >= 13 for entry in copy.opset_import):
        raise ValueError("bf16 needs opset 13")
    _widen_graph(copy.graph, {})
    return copy


def has_bf16(model):
    """Whether any value of the model is bf16."""
    from engines import uses_type
    return uses_type(model, BF16)
