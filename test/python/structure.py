"""What every converted model must satisfy whatever its numbers: legal, ordered, same interface, tidy casts.

The numbers in the messages are the demands of docs/validation.md.
"""
from collections import Counter

import onnx
import onnx.shape_inference
from onnx import AttributeProto, TensorProto

NARROW = {TensorProto.FLOAT16, TensorProto.BFLOAT16}
HEAVY = {"MatMul", "Gemm", "Conv", "ConvTranspose", "LSTM", "GRU", "RNN", "Einsum", "Attention"}


def bodies(node):
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield attribute.g
        elif attribute.type == AttributeProto.GRAPHS:
            yield from attribute.graphs


def all_graphs(graph):
    yield graph
    for node in graph.node:
        for body in bodies(node):
            yield from all_graphs(body)


def cast_target(node):
    return next((a.i for a in node.attribute if a.name == "to"), None) if node.op_type == "Cast" and not node.domain else None


def type_name(number):
    return TensorProto.DataType.Name(number).lower() if number else "unknown"


def full_check(model):
    """None, or what the checker with full inference objects to."""
    try:
        onnx.checker.check_model(model, full_check=True)
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:400]}"
    return None


def strict_inference(model):
    """(inferred model, None), or (None, what strict inference objects to). Recorded types of inner values are dropped first."""
    bare = onnx.ModelProto()
    bare.CopyFrom(model)
    for graph in all_graphs(bare.graph):
        del graph.value_info[:]
    try:
        return onnx.shape_inference.infer_shapes(bare, check_type=True, strict_mode=True, data_prop=True), None
    except Exception as error:
        return None, f"{type(error).__name__}: {str(error)[:400]}"


def element_types(model):
    """Element types by value name, bodies included; later definitions of an equal name win."""
    types = {}
    for graph in all_graphs(model.graph):
        for tensor in graph.initializer:
            types[tensor.name] = tensor.data_type
        for value in [*graph.input, *graph.value_info, *graph.output]:
            if value.type.HasField("tensor_type"):
                types[value.name] = value.type.tensor_type.elem_type
        for node in graph.node:
            if (to := cast_target(node)) is not None:
                types[node.output[0]] = to
    return types


def recorded_types(model, inferred):
    """Demand 1: every recorded type equals the inferred one."""
    wanted = element_types(inferred)
    for graph in all_graphs(model.graph):
        for value in graph.value_info:
            have, want = value.type.tensor_type.elem_type, wanted.get(value.name)
            if want and have and value.type.HasField("tensor_type") and have != want:
                yield f"demand 1: value '{value.name}' is recorded as {type_name(have)}, but is {type_name(want)}"


def order(graph, outer=frozenset(), where="graph"):
    """Demand 2: topological order, one producer, every output produced."""
    defined = set()
    visible = set(outer)

    def define(name):
        if name in defined:
            yield f"demand 2: {where}: value '{name}' has two producers"
        defined.add(name)
        visible.add(name)

    initializers = {t.name for t in graph.initializer} | {t.values.name for t in graph.sparse_initializer}
    for value in graph.input:
        yield from define(value.name)
    visible |= initializers
    defined |= initializers
    for node in graph.node:
        label = f"node '{node.name}' ({node.op_type})"
        for name in node.input:
            if name and name not in visible:
                yield f"demand 2: {where}: {label} reads '{name}', which nothing before it produces"
        for body in bodies(node):
            yield from order(body, visible, f"body of {label}")
        for name in node.output:
            if name:
                yield from define(name)
    for value in graph.output:
        if value.name not in visible:
            yield f"demand 2: {where}: output '{value.name}' is not produced"


def _dims(value):
    tensor = value.type.tensor_type
    if not tensor.HasField("shape"):
        return None
    return [d.dim_value if d.HasField("dim_value") else (d.dim_param or "?") for d in tensor.shape.dim]


def _public(model, kind, original):
    """Inputs or outputs of the interface. Before IR version 4 a file had to list its initializers as inputs: they are none."""
    values = getattr(model.graph, kind)
    if kind == "output" or original.ir_version >= 4:
        return list(values)
    initializers = {t.name for t in model.graph.initializer}
    return [v for v in values if v.name not in initializers]


def _is_repair(name, said):
    """Whether the importer said that this declaration cannot be true: what is written then differs from it."""
    return any(f"warning: value '{name}' is declared as " in line for line in said.splitlines())


def interface(original, converted, said=""):
    """Demand 3: public inputs and outputs keep name, type and shape. `said` is what amp-opt printed about the original."""
    for kind in ("input", "output"):
        old, new = _public(original, kind, original), _public(converted, kind, original)
        if [v.name for v in old] != [v.name for v in new]:
            yield f"demand 3: {kind}s are {[v.name for v in new]}, but were {[v.name for v in old]}"
            continue
        for a, b in zip(old, new):
            if a.type.WhichOneof("value") != b.type.WhichOneof("value"):
                yield f"demand 3: {kind} '{a.name}' changed its kind"
            elif a.type.HasField("tensor_type"):
                if a.type.tensor_type.elem_type != b.type.tensor_type.elem_type:
                    yield (f"demand 3: {kind} '{a.name}' is {type_name(b.type.tensor_type.elem_type)}, "
                           f"but was {type_name(a.type.tensor_type.elem_type)}")
                if _dims(a) != _dims(b) and not (kind == "output" and _is_repair(a.name, said)):
                    yield f"demand 3: {kind} '{a.name}' has shape {_dims(b)}, but had {_dims(a)}"
            elif a.type != b.type:
                yield f"demand 3: {kind} '{a.name}' changed its type"


def only_float32_changed(original, converted):
    """Demand 4, over values that keep their name. Both models are inferred ones."""
    old, new = element_types(original), element_types(converted)
    for name, before in old.items():
        after = new.get(name, before)
        if before and after and before != after and not (before == TensorProto.FLOAT and after in NARROW):
            yield f"demand 4: value '{name}' changed from {type_name(before)} to {type_name(after)}"


def casts(original, converted):
    """Demand 5: no pair of the tool's own, one Cast per value and type and region, none unused or without effect."""
    users = {node.output[0] for graph in all_graphs(original.graph) for node in graph.node if cast_target(node) is not None}
    types = element_types(converted)
    read, producers = set(), {}
    for graph in all_graphs(converted.graph):
        read |= {v.name for v in graph.output}
        for node in graph.node:
            read |= set(node.input)
            if (to := cast_target(node)) is not None:
                producers[node.output[0]] = (node, to)
    for graph in all_graphs(converted.graph):
        seen = Counter()
        for node in graph.node:
            to = cast_target(node)
            if to is None:
                continue
            mine = node.output[0] not in users
            seen[node.input[0], to] += 1
            if seen[node.input[0], to] == 2 and mine:
                yield f"demand 5: '{node.input[0]}' is cast to {type_name(to)} twice in one region"
            if mine and node.output[0] not in read:
                yield f"demand 5: Cast '{node.output[0]}' has no consumer"
            if mine and types.get(node.input[0]) == to:
                yield f"demand 5: Cast '{node.output[0]}' does not change the type {type_name(to)}"
            before = producers.get(node.input[0])
            if before and before[1] in NARROW and to == TensorProto.FLOAT and not (
                    node.output[0] in users and before[0].output[0] in users):
                yield f"demand 5: '{before[0].input[0]}' goes to {type_name(before[1])} and straight back to float in '{node.output[0]}'"


def check_all(original, converted, must_pass=True, said=""):
    """Problems of a converted model, demands 1 to 5. `must_pass`: the original passes the checker, so this must too. `said`: amp-opt's messages."""
    problems = list(order(converted.graph)) + list(interface(original, converted, said))
    if must_pass and (found := full_check(converted)):
        problems.append(f"demand 1: the checker says {found}")
    before, refused = strict_inference(original)
    after, found = strict_inference(converted)
    if found and not refused:
        problems.append(f"demand 1: strict inference says {found}")
    if after:
        problems += recorded_types(converted, after)
        if before:
            problems += only_float32_changed(before, after)
        problems += casts(original, after)
    return problems


def statistics(model):
    """Counts for the tables: nodes, Casts, heavy ops and how many of these read a 16-bit float."""
    inferred, _ = strict_inference(model)
    types = element_types(inferred or model)
    nodes = [node for graph in all_graphs(model.graph) for node in graph.node]
    heavy = [n for n in nodes if n.op_type in HEAVY and not n.domain]
    narrow = [n for n in heavy if any(types.get(name) in NARROW for name in n.input)]
    return {"nodes": len(nodes), "casts": sum(cast_target(n) is not None for n in nodes), "heavy": len(heavy), "narrow": len(narrow)}
