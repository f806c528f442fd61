"""Compares two ModelProtos field by field, modulo attribute order and the storage of tensor bytes."""
import hashlib

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, numpy_helper

_TYPED = ("float_data", "int32_data", "int64_data", "double_data", "uint64_data", "string_data", "raw_data", "external_data", "data_location")


def tensor_bytes(tensor, folder=""):
    """The payload in ONNX's raw layout, whatever field holds it."""
    if tensor.data_location == TensorProto.EXTERNAL:
        tensor = onnx.TensorProto.FromString(tensor.SerializeToString())
        onnx.external_data_helper.load_external_data_for_tensor(tensor, folder)
    if tensor.data_type == TensorProto.STRING:
        return b"\0".join(tensor.string_data)
    if tensor.HasField("raw_data"):
        return tensor.raw_data
    return numpy_helper.from_array(numpy_helper.to_array(tensor)).raw_data


def tensor_form(tensor, folder=""):
    rest = TensorProto()
    rest.CopyFrom(tensor)
    for field in _TYPED:
        rest.ClearField(field)
    data = tensor_bytes(tensor, folder)
    return ("tensor", rest.SerializeToString(deterministic=True), len(data), hashlib.sha1(data).hexdigest())


def _attribute_form(attribute, folder):
    kind = attribute.type
    if kind == AttributeProto.TENSOR:
        value = tensor_form(attribute.t, folder)
    elif kind == AttributeProto.TENSORS:
        value = [tensor_form(t, folder) for t in attribute.tensors]
    elif kind == AttributeProto.GRAPH:
        value = graph_form(attribute.g, folder)
    elif kind == AttributeProto.GRAPHS:
        value = [graph_form(g, folder) for g in attribute.graphs]
    elif kind == AttributeProto.FLOAT:
        value = np.float32(attribute.f).tobytes()
    elif kind == AttributeProto.FLOATS:
        value = np.asarray(attribute.floats, np.float32).tobytes()
    else:
        copy = AttributeProto()
        copy.CopyFrom(attribute)
        copy.ClearField("name"), copy.ClearField("doc_string"), copy.ClearField("type")
        value = copy.SerializeToString(deterministic=True)
    return kind, attribute.doc_string, attribute.ref_attr_name, value


def node_form(node, folder=""):
    rest = onnx.NodeProto()
    rest.CopyFrom(node)
    for field in ("input", "output", "attribute", "op_type", "domain", "name"):
        rest.ClearField(field)
    return {"op_type": node.op_type, "domain": "" if node.domain == "ai.onnx" else node.domain, "name": node.name, "inputs": list(node.input),
            "outputs": list(node.output), "rest": rest.SerializeToString(deterministic=True),
            "attributes": {a.name: _attribute_form(a, folder) for a in sorted(node.attribute, key=lambda a: a.name)}}


def graph_form(graph, folder=""):
    values = {f: [v.SerializeToString(deterministic=True) for v in getattr(graph, f)] for f in ("input", "output", "value_info")}
    rest = onnx.GraphProto()
    rest.CopyFrom(graph)
    for field in ("node", "initializer", "input", "output", "value_info"):
        rest.ClearField(field)
    return {"node": [node_form(n, folder) for n in graph.node], "initializer": [tensor_form(t, folder) for t in graph.initializer],
            **values, "rest": rest.SerializeToString(deterministic=True)}


def model_form(model, folder=""):
    rest = onnx.ModelProto()
    rest.CopyFrom(model)
    for field in ("graph", "opset_import"):
        rest.ClearField(field)
    opsets = sorted(("" if o.domain == "ai.onnx" else o.domain, o.version) for o in model.opset_import)
    return {"graph": graph_form(model.graph, folder), "opset_import": opsets, "rest": rest.SerializeToString(deterministic=True)}


def difference(left, right, path=""):
    """Path and values of the first place where two forms differ, or None."""
    if isinstance(left, dict) and isinstance(right, dict):
        for key in list(left) + [k for k in right if k not in left]:
            if key not in left or key not in right:
                return f"{path}/{key}: only on the {'left' if key in left else 'right'}"
            if found := difference(left[key], right[key], f"{path}/{key}"):
                return found
        return None
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        for index, (a, b) in enumerate(zip(left, right)):
            label = f"{index}({a.get('op_type')} {a.get('name')!r})" if isinstance(a, dict) and "op_type" in a else str(index)
            if found := difference(a, b, f"{path}/{label}"):
                return found
        return None if len(left) == len(right) else f"{path}: {len(left)} against {len(right)} entries"
    return None if left == right else f"{path}: {str(left)[:160]} against {str(right)[:160]}"
