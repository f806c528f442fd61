"""PyTorch modules compiled and trained from Python, against PyTorch's own training on the CPU."""
import copy
import gc

import numpy as np
import pytest

amp = pytest.importorskip("amp_mlir", reason="the Python package is not built (Python's headers are missing)")
torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("amp_mlir.tracing")
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402


@pytest.fixture(autouse=True)
def _cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("AMP_CACHE", str(tmp_path_factory.getbasetemp() / "compiled-torch"))


class Net(nn.Module):
    """A convolution with batch normalisation, and a head of two linear layers. (A bias before a normalisation has no gradient
    but rounding errors, which Adam makes large.)"""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(2, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4)
        self.fc1, self.fc2 = nn.Linear(4 * 16, 8), nn.Linear(8, 3)
        self.unused = nn.Parameter(torch.ones(2))

    def forward(self, x):
        x = F.relu(self.norm(self.conv(x))).flatten(1)
        return self.fc2(F.gelu(self.fc1(x)))


def batch(seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(6, 2, 4, 4, generator=generator), torch.randint(0, 3, (6,), generator=generator)


def net(seed=1):
    torch.manual_seed(seed)
    return Net()


def train(model, optimizer, steps, batches=None, scheduler=None):
    losses = []
    for i in range(steps):
        x, y = batch(i) if batches is None else batches[i]
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if scheduler:
            scheduler.step()
    return losses


@pytest.mark.parametrize("ours, theirs", [
    (amp.SGD(lr=0.1, momentum=0.9, weight_decay=0.01), lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01)),
    (amp.AdamW(lr=0.01), lambda p: torch.optim.AdamW(p, lr=0.01)),
])
def test_trains_like_pytorch(ours, theirs):
    model = net()
    twin = copy.deepcopy(model)
    step = amp.compile_training(model, batch(), loss=F.cross_entropy, optimizer=ours, threads=1)
    losses = [step(*batch(i)).loss for i in range(6)]
    assert np.allclose(losses, train(twin, theirs(twin.parameters()), 6), rtol=2e-5)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    assert all((value == before[name]).all() for name, value in net().state_dict().items()), "compiling and training leave the module alone"
    step.copy_to(model)
    for name, value in twin.state_dict().items():
        assert torch.allclose(model.state_dict()[name].double(), value.double(), atol=2e-5), name
    assert model.norm.num_batches_tracked == 6
    x, y = batch(9)
    twin.eval()
    assert torch.allclose(step.infer(x), twin(x), atol=1e-4)
    assert abs(step.eval(x, y).loss - F.cross_entropy(twin(x), y).item()) < 1e-4


def test_outputs_are_torch_tensors_in_the_module_s_structure():
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(3, 2), nn.Linear(3, 4)

        def forward(self, inputs):
            return {"a": self.a(inputs["x"]), "both": (self.b(inputs["x"]), inputs["y"] + 1)}

    model = Two()
    inputs = {"x": torch.randn(5, 3), "y": torch.ones(2)}
    fast = amp.compile(model, (inputs,))
    want, got = model(inputs), fast(inputs)
    assert torch.allclose(got["a"], want["a"], atol=1e-6) and torch.allclose(got["both"][0], want["both"][0], atol=1e-6)
    assert (got["both"][1] == 2).all()


def test_half_precision_with_scaling():
    model = net()
    step = amp.compile_training(model, batch(), loss=F.cross_entropy, optimizer=amp.SGD(lr=0.1), threads=1,
                                autocast=amp.autocast("cuda", torch.float16), scaler=torch.amp.GradScaler("cpu", init_scale=2.0 ** 30))
    out = step(*batch())
    assert out.skipped and out.scale == 2.0 ** 29
    while out.skipped:
        out = step(*batch())
    losses = [step(*batch(0)).loss for _ in range(10)]
    assert losses[-1] < losses[0] < 3
    assert "compile" in step.report().data


class Region(nn.Module):
    """Half precision in a part of the program, by the program itself."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(16, 64), nn.Linear(64, 4)

    def forward(self, x, enabled=True):
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            h = torch.tanh(self.a(x))
        return self.b(h.float())


def test_regions_of_the_program_hold():
    torch.manual_seed(3)
    model, x = Region(), torch.randn(8, 16)
    got, want, wide = amp.compile(model, (x,), threads=1)(x), model(x), model(x, enabled=False)
    assert torch.allclose(got, want, atol=1e-5), "as eager autocast computes it"
    assert not torch.allclose(got, wide, atol=1e-5)
    y = torch.randint(0, 4, (8,))
    step = amp.compile_training(model, (x, y), loss=F.cross_entropy, optimizer=amp.SGD(lr=0.5), threads=1)
    twin = copy.deepcopy(model)
    optimizer = torch.optim.SGD(twin.parameters(), lr=0.5)
    for _ in range(4):
        loss = F.cross_entropy(twin(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        assert abs(step(x, y).loss - loss.item()) < 2e-3


def test_weights_go_both_ways(tmp_path):
    step = amp.compile_training(net(), batch(), loss=F.cross_entropy, optimizer=amp.SGD(lr=0.1), threads=1)
    other = net(seed=5)
    step.copy_from(other)
    state = step.state_dict()
    assert all(isinstance(value, torch.Tensor) and (value == other.state_dict()[name]).all() for name, value in state.items())
    third = net(seed=6)
    step.load_state_dict(third.state_dict())
    assert (step.parameters()["fc1.weight"] == third.fc1.weight.detach().numpy()).all()
    with pytest.raises(amp.Error, match="the module has no"):
        step.copy_to(nn.Linear(2, 2))
    with pytest.raises(amp.Error, match="it lacks fc1.bias"):
        step.load_state_dict({name: value for name, value in third.state_dict().items() if name != "fc1.bias"})
    step.save(tmp_path / "w.safetensors", weights_only=True, plain_names=True)
    from safetensors.torch import load_file
    assert (load_file(tmp_path / "w.safetensors")["conv.weight"] == third.conv.weight).all()


@pytest.mark.parametrize("make", [lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True), lambda p: torch.optim.Adam(p, lr=0.01, amsgrad=True),
                                  lambda p: torch.optim.AdamW(p, lr=0.01, betas=(0.8, 0.9))])
def test_optimizer_state_goes_both_ways(make):
    """Three steps in PyTorch, three compiled, three in PyTorch again: as nine in PyTorch."""
    batches = [batch(i) for i in range(9)]
    reference = net()
    want = train(reference, make(reference.parameters()), 9, batches)
    model = net()
    optimizer = make(model.parameters())
    losses = train(model, optimizer, 3, batches)
    step = amp.compile_training(model, batches[0], loss=F.cross_entropy, optimizer=optimizer, threads=1)
    step.optimizer.load_state_dict(optimizer.state_dict())
    losses += [step(*batches[i]).loss for i in range(3, 6)]
    step.copy_to(model)
    again = make(model.parameters())
    again.load_state_dict(step.optimizer.state_dict())
    losses += train(model, again, 3, batches[6:])
    assert np.allclose(losses, want, rtol=1e-4)


def test_optimizer_state_errors():
    model = net()
    optimizer = torch.optim.Adam(model.parameters())
    step = amp.compile_training(model, batch(), loss=F.cross_entropy, optimizer=optimizer, threads=1)
    train(model, optimizer, 1)
    state = optimizer.state_dict()
    broken = copy.deepcopy(state)
    broken["state"][1]["exp_avg"] = torch.zeros(3)
    with pytest.raises(amp.Error, match=r"'exp_avg.conv.weight' has the shape \[3\] in the state_dict"):
        step.optimizer.load_state_dict(broken)
    broken = copy.deepcopy(state)
    broken["state"][2]["step"] += 1
    with pytest.raises(amp.Error, match=r"updated \[1, 2\] times"):
        step.optimizer.load_state_dict(broken)
    assert step.stats["applied"] == 0


def test_parameter_groups_and_schedulers():
    def groups(model):
        return [{"params": [model.conv.weight, model.fc1.weight, model.fc2.weight], "weight_decay": 0.1},
                {"params": [model.norm.bias, model.fc1.bias, model.fc2.bias], "lr": 0.5}]

    def make(model):
        optimizer = torch.optim.SGD(groups(model), lr=0.1, momentum=0.5)
        return optimizer, torch.optim.lr_scheduler.StepLR(optimizer, 2, gamma=0.5)

    twin, model = net(), net()
    optimizer, scheduler = make(twin)
    want = train(twin, optimizer, 6, scheduler=scheduler)
    optimizer, scheduler = make(model)
    step = amp.compile_training(model, batch(), loss=F.cross_entropy, optimizer=optimizer, threads=1)
    losses = []
    for i in range(6):
        losses.append(step(*batch(i)).loss)
        scheduler.step()
    assert np.allclose(losses, want, rtol=2e-5)
    assert step.state_dict()["norm.weight"].eq(1).all(), "what the optimizer does not have is not trained"
    assert model.norm.weight.requires_grad
    assert np.allclose(sorted(step.lr.values()), [0.025, 0.125])


@pytest.mark.parametrize("make, message", [
    (lambda p: torch.optim.RMSprop(p), "torch.optim.RMSprop is not known; there are SGD, Adam and AdamW"),
    (lambda p: torch.optim.SGD([{"params": p[:1], "momentum": 0.1}, {"params": p[1:]}], lr=0.1), "group 1 has momentum=0"),
    (lambda p: torch.optim.Adam(nn.Linear(2, 2).parameters()), "none of the model's parameters"),
])
def test_optimizers_that_are_refused(make, message):
    model = net()
    with pytest.raises(amp.Error, match=message):
        amp.compile_training(model, batch(), loss=F.cross_entropy, optimizer=make(list(model.parameters())))
    with pytest.raises(amp.Error, match="parameters of a torch module"):
        amp.compile_training("m.onnx", loss="y", optimizer=torch.optim.SGD(model.parameters(), lr=0.1))


class Angry(nn.Module):
    def forward(self, x):
        return torch.linalg.eigvals(x).real + torch.linalg.svdvals(x)


@pytest.mark.parametrize("model, example, loss, message", [
    (lambda: Angry(), (torch.randn(3, 3), torch.zeros(3)), F.mse_loss, r"(?s)eigvals.*svdvals.*test_py_torch.py"),
    (net, (batch()[0],), F.cross_entropy, "the loss function alone takes 1 of them as labels"),
    (net, (), F.cross_entropy, "is traced with example_inputs"),
    (net, batch(), lambda *all: all, "labels="),
    (net, batch(), 3, "loss is a function"),
])
def test_modules_that_are_refused(model, example, loss, message):
    with pytest.raises(Exception, match=message):
        amp.compile_training(model(), example, loss=loss, optimizer=amp.SGD())


def test_exceptions_in_the_loss_are_passed_on():
    def loss(output, labels):
        raise ValueError("no such loss")

    with pytest.raises(Exception, match="no such loss"):
        amp.compile_training(net(), batch(), loss=loss, optimizer=amp.SGD())


def test_the_module_is_not_kept():
    import weakref
    model = net()
    kept = weakref.ref(model)
    step = amp.compile_training(model, batch(), loss=F.cross_entropy, optimizer=amp.SGD(lr=0.1), threads=1)
    del model
    gc.collect()
    assert kept() is None
    step(*batch())
