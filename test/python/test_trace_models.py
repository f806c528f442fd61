"""Whole modules: traced programs compute what eager runs compute, names and state are the module's, refusals point at the user's line."""
import copy
import inspect
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (utils/setup --torch)")
amp = pytest.importorskip("amp_mlir", reason="the Python package is not built (Python's headers are missing)")

import torch.nn.functional as F
import trace_models
import trace_ops
from torch import nn
from torch.utils import _pytree as pytree
from torch.utils.checkpoint import checkpoint

from amp_mlir.tracing import TraceError, UnsupportedOps, trace

ROOT = Path(__file__).resolve().parents[2]


def evaluate(traced, inputs, state):
    """Outputs by name. With running statistics the program is written out first: ONNX Runtime's BatchNormalization writes the new ones
    over the old ones, which are still read."""
    if any("running_var" in name for name in traced.meta.mutated):
        traced.module.run_pipeline("func.func(decompose-onnx,decompose-train{to-onnx=true})")
    feeds = {name: value.numpy() for name, value in zip([*traced.meta.inputs, *traced.meta.labels], inputs)}
    feeds.update({name: value.detach().numpy() for name, value in state.items()})
    model = trace_ops.to_onnx(traced.module)
    wanted = {value.name for value in model.graph.input}
    return trace_ops.run_model(model, {name: np.array(value) for name, value in feeds.items() if name in wanted})


def state_of(module):
    return dict(module.named_parameters()) | dict(module.named_buffers())


def check_outputs(traced, found, expected, tolerance=1e-4):
    for name, value in zip(traced.meta.outputs, pytree.tree_leaves(expected)):
        np.testing.assert_allclose(found[name], value.detach().numpy(), rtol=tolerance, atol=tolerance / 10, err_msg=name)


@pytest.mark.parametrize("name", trace_models.MODELS)
def test_values_and_buffers(name):
    module, inputs = trace_models.build(name)
    eager = copy.deepcopy(module)
    traced = trace(module, inputs)
    found = evaluate(traced, inputs, state_of(module))
    check_outputs(traced, found, eager(*[value.clone() for value in inputs]))
    buffers = dict(eager.named_buffers())
    changed = {key for key, value in module.named_buffers() if not torch.equal(value, buffers[key])}
    assert changed == set(traced.meta.mutated)
    for key, output in traced.meta.mutated.items():
        np.testing.assert_allclose(found[output], buffers[key].numpy(), rtol=1e-4, atol=1e-6, err_msg=key)
    assert set(traced.meta.parameters) | set(traced.meta.tied) >= {key for key, _ in module.named_parameters()}


def test_structure_of_outputs_and_constants():
    module, inputs = trace_models.build("bert")
    traced = trace(module.eval(), inputs, constants=True)
    assert traced.meta.outputs == ["logits", "pooled"] and traced.meta.inputs == ["ids", "mask"]
    found = evaluate(traced, inputs, {})
    check_outputs(traced, found, module(*inputs))
    assert pytree.tree_unflatten(["a", "b"], traced.meta.output_spec) == {"logits": "a", "pooled": "b"}
    assert [entry["name"] for entry in traced.module.inputs] == ["ids", "mask"]


# Names, roles, locations --------------------------------------------------------------------------

class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(7, 4), nn.Linear(4, 7, bias=False)
        self.head.weight = self.embed.weight
        self.frozen = nn.Parameter(torch.ones(4), requires_grad=False)
        self.norm = nn.Sequential(nn.BatchNorm1d(4))

    def forward(self, ids, *, scale):
        return self.head(self.norm(self.embed(ids) * self.frozen * scale))


def test_roles_names_and_locations():
    line = inspect.getsourcelines(Tied.forward)[1] + 1
    traced = trace(Tied(), (torch.tensor([1, 2, 3]),), {"scale": torch.tensor(2.0)}, loss=F.cross_entropy, labels=(torch.tensor([0, 1, 2]),))
    roles = {entry["name"]: entry["role"] or "input" for entry in traced.module.inputs}
    assert roles == {"embed.weight": "parameter", "norm.0.weight": "parameter", "norm.0.bias": "parameter", "frozen": "buffer",
                     "norm.0.running_mean": "buffer", "norm.0.running_var": "buffer", "norm.0.num_batches_tracked": "buffer",
                     "ids": "input", "scale": "input", "target": "label"}
    meta = traced.meta
    assert meta.inputs == ["ids", "scale"] and meta.labels == ["target"] and meta.has_loss
    assert meta.tied == {"head.weight": "embed.weight"} and list(meta.frozen) == ["frozen"]
    assert meta.mutated == {f"norm.0.{key}": f"next.norm.0.{key}" for key in ("num_batches_tracked", "running_mean", "running_var")}
    assert [entry["name"] for entry in traced.module.outputs] == ["loss", "output", *meta.mutated.values()]
    text = traced.module.text(locations=True)
    assert '"/norm/0/BatchNormalization"' in text and '"/embed/Gather"' in text and '"/head/Gemm"' in text
    assert f'test_trace_models.py":{line}' in text


def test_symbolic_batch():
    module, (x,) = trace_models.build("resnet")
    batch = torch.export.Dim("batch", min=2)
    traced = trace(module, (x,), dynamic_shapes={"x": {0: batch}}, loss=F.cross_entropy, labels=(torch.zeros(16, dtype=torch.long),))
    shapes = {entry["name"]: entry["shape"] for entry in traced.module.inputs}
    assert shapes["x"] == ["batch", 3, 16, 16] and shapes["target"] == ["batch"]
    module, (ids,) = trace_models.build("llama")
    traced = trace(module, (ids,), dynamic_shapes=({0: torch.export.Dim("batch", min=2)},))
    more = torch.randint(0, 31, (5, 8))
    check_outputs(traced, evaluate(traced, (more,), state_of(module)), module(more))
    with pytest.raises(TraceError, match="names 'z', but the arguments are ids"):
        trace(module, (ids,), dynamic_shapes={"z": {0: batch}}, loss=F.mse_loss, labels=(ids,))


# Losses -------------------------------------------------------------------------------------------

def custom_loss(outputs, target, weights):
    return (F.mse_loss(outputs, target, reduction="none") * weights).sum() + 1e-3 * outputs.pow(2).mean()


@pytest.mark.parametrize("loss", [F.mse_loss, nn.L1Loss(), custom_loss, lambda y, t: F.huber_loss(y, t, delta=0.5)])
def test_losses(loss):
    module, x, target = nn.Linear(4, 3), torch.randn(5, 4), torch.randn(5, 3)
    labels = (target, torch.rand(3)) if loss is custom_loss else (target,)
    traced = trace(module, (x,), loss=loss, labels=labels)
    found = evaluate(traced, (x, *labels), state_of(module))
    np.testing.assert_allclose(found["loss"], loss(module(x), *labels).detach().numpy(), rtol=1e-5)
    np.testing.assert_allclose(found["output"], module(x).detach().numpy(), rtol=1e-5, atol=1e-6)


def test_loss_with_parameters_of_its_own():
    loss = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0, 3.0]), label_smoothing=0.1)
    module, x, y = nn.Linear(4, 3), torch.randn(5, 4), torch.randint(0, 3, (5,))
    traced = trace(module, (x,), loss=loss, labels=(y,))
    found = evaluate(traced, (x, y), state_of(module) | {"loss.weight": loss.weight})
    np.testing.assert_allclose(found["loss"], loss(module(x), y).detach().numpy(), rtol=1e-5)


@pytest.mark.parametrize("loss, message", [(lambda y, t: y, r"returned f32 of shape \[5, 3\]"), (lambda y, t: 3, "did not return a tensor"),
                                           (lambda y, t: 1 / 0, "division")])
def test_losses_that_are_none(loss, message):
    with pytest.raises(TraceError, match=message):
        trace(nn.Linear(4, 3), (torch.randn(5, 4),), loss=loss, labels=(torch.randn(5, 3),))


# Refusals -----------------------------------------------------------------------------------------

class Several(nn.Module):
    def forward(self, x):
        y = torch.linalg.inv(x)
        z = torch.fft.fft(x).real
        return y + z + torch.linalg.inv(x + 1)


def test_operators_without_a_rule_are_reported_at_once():
    first = inspect.getsourcelines(Several.forward)[1] + 1
    with pytest.raises(UnsupportedOps) as error:
        trace(Several(), (torch.randn(3, 3),))
    names = [operator for operator, _, _ in error.value.found]
    assert names == ["aten.linalg_inv.default", "aten.fft_fft.default", "aten.linalg_inv.default"]
    assert f"test_trace_models.py:{first}: y = torch.linalg.inv(x)" in str(error.value) and "3 operators cannot be traced" in str(error.value)


class Branch(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x
        return -x


class Reads(nn.Module):
    def forward(self, x):
        return x * x.sum().item()


class Checkpointed(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x):
        return checkpoint(self.linear, x, use_reentrant=False)


class WritesInput(nn.Module):
    def forward(self, x):
        x.add_(1)
        return x * 2


class WritesParameter(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))

    def forward(self, x):
        with torch.no_grad():
            self.weight.mul_(0.9)
        return x * self.weight


class Masked(nn.Module):
    def forward(self, x):
        return x[x > 0].sum()


class Wrong(nn.Module):
    def forward(self, x):
        return x @ torch.ones(7, 2)


@pytest.mark.parametrize("module, message", [
    (Branch, "control flow depends on values.*\n.*test_trace_models.py:.*if x.sum\\(\\) > 0"),
    (Checkpointed, "checkpoint\\(\\) cannot be traced: remove it.*\n.*test_trace_models.py:.*checkpoint\\(self.linear"),
    (Reads, "aten.item.default: reads a number from a tensor.*\n.*test_trace_models.py:.*item"),
    (WritesInput, "writes to its input 'x' in place"), (WritesParameter, "writes to the parameter 'weight' in place"),
    (Masked, "size depends on values"), (Wrong, "\n.*test_trace_models.py:.*x @ torch.ones"),
])
def test_refusals(module, message):
    with pytest.raises(TraceError, match=message):
        trace(module(), (torch.randn(3, 3),))


def test_errors_of_arguments():
    linear, x = nn.Linear(3, 3), torch.randn(2, 3)
    with pytest.raises(TraceError, match="labels are given without a loss"):
        trace(linear, (x,), labels=(x,))
    with pytest.raises(TraceError, match="exported already cannot get a loss"):
        trace(torch.export.export(linear, (x,)), (), loss=F.mse_loss, labels=(x,))


# State and gradients ------------------------------------------------------------------------------

class Stops(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([1.0, 2.0, 3.0]))

    def forward(self, x):
        with torch.no_grad():
            scale = (self.weight * x).sum()
        return (self.weight * x * scale * self.weight.detach()).sum()


def test_gradients_stop():
    module, x = Stops(), torch.tensor([0.5, -1.0, 2.0])
    module(x).backward()
    traced = trace(module, (x,))
    traced.module.run_pipeline("func.func(train-differentiate{loss=output},decompose-train{to-onnx=true})")
    found = trace_ops.run_model(trace_ops.to_onnx(traced.module), {"x": x.numpy(), "weight": module.weight.detach().numpy()})
    np.testing.assert_allclose(found["grad.weight"], module.weight.grad.numpy(), rtol=1e-6)


def test_half_and_double_modules():
    x = torch.randn(4, 3)
    for dtype, tolerance in ((torch.float64, 1e-12), (torch.float16, 1e-2)):
        module = nn.Sequential(nn.Linear(3, 5), nn.Softplus(), nn.Linear(5, 2)).to(dtype)
        traced = trace(module, (x.to(dtype),))
        check_outputs(traced, evaluate(traced, (x.to(dtype),), state_of(module)), module(x.to(dtype)), tolerance)
    module = nn.Linear(3, 2).to(torch.bfloat16)
    assert trace(module, (x.to(torch.bfloat16),)).module.inputs[0]["dtype"] == "bf16"


def test_decomposed_programs_are_recognised():
    module, inputs = trace_models.build("mlp")

    class Casting(nn.Module):
        def __init__(self):
            super().__init__()
            self.module = module

        def forward(self, x):
            with torch.autocast("cpu", torch.bfloat16):
                return self.module(x)
    program = torch.export.export(Casting(), inputs).run_decompositions()
    traced = trace(program, ())
    assert traced.meta.has_casts and not trace(torch.export.export(module, inputs), ()).meta.has_casts
    before = traced.module.text().count("tensor<64x20xbf16>")
    traced.module.run_pipeline("autocast{dtype=f16 policy=torch-cpu}")
    text = traced.module.text()
    assert before and "f16>" not in text.replace("bf16>", "") and text.count("tensor<64x20xbf16>") == before


# The list and the page ----------------------------------------------------------------------------

def test_page_lists_the_rules():
    from amp_mlir.tracing import __main__ as listing
    page = (ROOT / "docs/tracing.md").read_text()
    assert page.endswith(listing.page().rstrip() + "\n"), "stale: python -m amp_mlir.tracing --markdown writes the end of docs/tracing.md"


def test_list():
    package = str(Path(amp.__file__).resolve().parents[1]) if "build" not in amp.__file__ else str(Path(amp.__file__).parents[1])
    run = subprocess.run([sys.executable, "-m", "amp_mlir.tracing", "--list"], capture_output=True, text=True, env={"PYTHONPATH": package})
    assert run.returncode == 0, run.stderr
    assert "aten.conv2d.default" in run.stdout and len(run.stdout.splitlines()) >= 180
