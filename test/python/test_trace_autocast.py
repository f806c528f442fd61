"""Under PyTorch's CPU policy every intermediate of a traced module has the type that eager autocast gives it."""
import re

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (utils/setup --torch)")
amp = pytest.importorskip("amp_mlir", reason="the Python package is not built (Python's headers are missing)")

import trace_models
from torch import nn

from amp_mlir.tracing import rules  # noqa: F401 (fills the table)
from amp_mlir.tracing.emit import DTYPES, Tensor
from amp_mlir.tracing.export import export
from amp_mlir.tracing.storage import Cell
from amp_mlir.tracing.tracer import _Tracer
from amp_mlir.tracing.walk import Walk


class Autocast(nn.Module):
    """A module run under autocast."""

    def __init__(self, module, dtype=torch.bfloat16):
        super().__init__()
        self.module, self.dtype = module, dtype

    def forward(self, *args):
        with torch.autocast("cpu", self.dtype):
            return self.module(*args)


class Probe(Walk):
    """Marks each node's value by an Identity that has the node's number as its name."""

    def guarded(self, module, node, environment):
        self.nodes = getattr(self, "nodes", [])
        result = super().guarded(module, node, environment)
        if isinstance(result, Cell) and result.read().is_float and "wrap_with" not in str(node.target):
            value = result.read()
            self.builder.op("Identity", [value.value], name=f"probe.{len(self.nodes)}")
            self.nodes.append(node)
        return result


def run_eagerly(module, arguments, dtypes):
    """Runs a traced program node by node in eager PyTorch; notes down the type of every result."""
    environment, placeholders = {}, iter(arguments)
    for node in module.graph.nodes:
        args, kwargs = torch.fx.node.map_arg((node.args, dict(node.kwargs)), environment.__getitem__)
        if node.op == "placeholder":
            result = next(placeholders)
        elif node.op == "get_attr":
            result = getattr(module, node.target)
        elif node.op == "output":
            return args[0]
        elif str(node.target) == "wrap_with_autocast":
            device, dtype, enabled, _, body, *operands = args
            with torch.autocast(device, dtype, enabled):
                result = run_eagerly(body, operands, dtypes)
        elif str(node.target) == "wrap_with_set_grad_enabled":
            result = run_eagerly(args[1], args[2:], dtypes)
        elif "_assert_tensor_metadata" in str(node.target):
            result = None
        else:
            result = node.target(*args, **kwargs)
        environment[node] = result
        if isinstance(result, torch.Tensor):
            dtypes[node] = DTYPES.get(result.dtype)


def example_arguments(program):
    """The tensors of a program's placeholders, in order."""
    exported = program.exported
    inputs = iter(torch.utils._pytree.tree_leaves(exported.example_inputs))
    tensors = []
    for spec in exported.graph_signature.input_specs:
        if spec.kind.name == "USER_INPUT":
            tensors.append(next(inputs))
        else:
            table = exported.state_dict if spec.target in exported.state_dict else exported.constants
            tensors.append(table[spec.target].detach().clone())
    return tensors


def compare(module, inputs, policy=None, pipeline="autocast{dtype=bf16 policy=torch-cpu}"):
    """Pairs of node and types that differ, and how many were compared."""
    program = export(module, inputs)
    tracer = _Tracer(program, amp.GraphBuilder("probe"), policy, None)
    probe = tracer.walk = Probe(tracer.builder, policy, program.prefix)
    graph = tracer.run().module
    graph.run_pipeline(pipeline)
    found = {int(number): element for number, element in
             re.findall(r'onnx\.Identity.*?onnx\.name = "probe\.(\d+)".*?-> tensor<(?:[^<>]*x)?(\w+?)(?:, #.*)?>', graph.text())}
    dtypes = {}
    run_eagerly(program.exported.graph_module, example_arguments(program), dtypes)
    assert set(found) == set(range(len(probe.nodes)))
    wrong = [f"{node.target} ({node.name}): {found[number]}, PyTorch has {dtypes[node]}"
             for number, node in enumerate(probe.nodes) if found[number] != dtypes[node]]
    return wrong, len(probe.nodes)


# PyTorch itself refuses to add rows of one type to another (index_add), and to run LSTMs in bf16 on the CPU.
NOT_IN_HALF = {"graph", "lstm", "lstm_bidirectional"}


def known(names, differing, reason):
    """The names as parameters; those that differ from PyTorch are expected to fail."""
    return [pytest.param(name, marks=pytest.mark.xfail(reason=reason)) if name in differing else name for name in names]


@pytest.mark.parametrize("name", known([name for name in trace_models.MODELS if name not in NOT_IN_HALF], {"gru_bidirectional"},
                                       "the results of a bidirectional GRU are half as its operands are; PyTorch gives float32"))
def test_types_of_intermediates(name):
    module, inputs = trace_models.build(name)
    wrong, count = compare(Autocast(module), inputs)
    assert count > 3
    assert not wrong, "\n".join(wrong)


class Regions(nn.Module):
    """Nested regions, one that is off, a type that is inherited, values that leave regions in half."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        with torch.autocast("cpu", torch.float16):
            y = self.a(x)
            with torch.autocast("cpu", enabled=False):
                z = torch.exp(y) + 1
                w = self.b(z.float())
                with torch.autocast("cpu"):
                    w = self.b(w)
            y = y * w + x
            with torch.autocast("cpu", dtype=torch.bfloat16):
                v = self.a(y).log1p().var(-1)
        return torch.tanh(z) * 2, self.b(w.float()), v + 1


def test_regions():
    wrong, count = compare(Regions(), (torch.rand(2, 4),))
    assert count > 10
    assert not wrong, "\n".join(wrong)


class Single(nn.Module):
    """One function of a half and of a float32 value."""

    def __init__(self, function):
        super().__init__()
        self.linear, self.function = nn.Linear(4, 4), function

    def forward(self, x):
        return self.function(torch.sigmoid(self.linear(x))), self.function(torch.sigmoid(x))


FUNCTIONS = {
    "log1p": torch.log1p, "expm1": torch.expm1, "log2": torch.log2, "erfc": torch.erfc, "logit": torch.logit, "sinc": torch.sinc,
    "var": lambda x: x.var(-1), "std": lambda x: x.std(0), "norm": lambda x: x.norm(dim=1), "logsigmoid": nn.functional.logsigmoid,
    "tanhshrink": nn.functional.tanhshrink, "softsign": nn.functional.softsign, "cumsum": lambda x: x.cumsum(0), "clamp": lambda x: x.clamp(0.2, 0.8),
    "pow": lambda x: x**2, "rpow": lambda x: 2**x, "rdiv": lambda x: 1 / x, "one_hot": lambda x: x * nn.functional.one_hot(torch.tensor([1, 0]), 4),
    "zeros_like": lambda x: torch.zeros_like(x) + x, "new_ones": lambda x: x.new_ones(4) * x, "full": lambda x: torch.full((4,), 2.0) * x,
    "scalar": lambda x: x * torch.tensor(2.0), "masked": lambda x: x.masked_fill(x > 0.5, -1e9), "where": lambda x: torch.where(x > 0.5, x, 0.0),
    "celu": nn.functional.celu, "glu": nn.functional.glu, "hardtanh": nn.functional.hardtanh, "atan2": lambda x: torch.atan2(x, x),
    "lerp": lambda x: torch.lerp(x, x, 0.5), "cosine": lambda x: nn.functional.cosine_similarity(x, x), "normalize": nn.functional.normalize,
    "mse": lambda x: nn.functional.mse_loss(x, x), "kl": lambda x: nn.functional.kl_div(x, x, reduction="sum"), "bmm": lambda x: torch.bmm(x[None], x.mT[None]),
    "einsum": lambda x: torch.einsum("ij,kj->ik", x, x), "cat": lambda x: torch.cat([x, torch.ones(2, 4)]), "sum": lambda x: x.sum(), "prod": lambda x: x.prod(),
    "in_place": lambda x: x.clone().add_(torch.ones(4)), "pad": lambda x: nn.functional.pad(x, (1, 1)), "max": lambda x: x.max(1).values,
}


@pytest.mark.parametrize("name", known(FUNCTIONS, {"one_hot"}, "an integer tensor becomes float32 in a product with a half one; PyTorch gives half"))
def test_types_of_functions(name):
    wrong, _ = compare(Autocast(Single(FUNCTIONS[name])), (torch.rand(2, 4),))
    assert not wrong, "\n".join(wrong)
