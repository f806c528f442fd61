"""Training steps as a whole, run in ONNX Runtime: optimizers, clipping, accumulation and loss scaling against PyTorch, the golden traces
of the scaler, and one test for each rule of loss scaling (B, U)."""
import numpy as np
import pytest

from training_step import LABELS, Step, batches, build, mlp, parameters

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    torch = None

needs_torch = pytest.mark.skipif(torch is None, reason="compares with PyTorch: utils/setup --torch installs it")
#: An input whose products overflow float32.
HUGE = np.float32(3e38)
OPTIMIZERS = {
    "sgd": {"sgd": {"lr": 0.05}},
    "momentum": {"sgd": {"lr": 0.05, "momentum": 0.9}},
    "nesterov": {"sgd": {"lr": 0.05, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}},
    "dampening": {"sgd": {"lr": 0.05, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.01}},
    "maximize": {"sgd": {"lr": 0.01, "momentum": 0.5, "maximize": True}},
    "adam": {"adam": {"lr": 0.01, "weight_decay": 0.01}},
    "adam-amsgrad": {"adam": {"lr": 0.01, "betas": [0.8, 0.95], "amsgrad": True}},
    "adamw": {"adamw": {"lr": 0.01, "weight_decay": 0.1}},
    "adamw-amsgrad": {"adamw": {"lr": 0.01, "eps": 1e-6, "amsgrad": True}},
    "lion": {"lion": {"lr": 0.001, "weight_decay": 0.1}},
    "lamb": {"lamb": {"lr": 0.01, "weight_decay": 0.1}},
}
IN_TORCH = [name for name in OPTIMIZERS if name not in ("lion", "lamb")]


def config(optimizer="momentum", **more):
    return {"loss": {"softmax_cross_entropy": {"logits": "logits", "labels": "labels"}}, "optimizer": OPTIMIZERS[optimizer], **more}


def scaled(optimizer="momentum", autocast=None, **scale):
    more = {"autocast": autocast} if autocast else {}
    return config(optimizer, loss_scale={"enabled": True, **scale}, **more)


def overflowing(batch):
    return {**batch, "x": np.full_like(batch["x"], HUGE)}


def assert_same_bits(have, want, names):
    for name in names:
        assert have[name].tobytes() == want[name].tobytes(), name


# PyTorch


class Torch:
    """The MLP and optimizer of PyTorch with the same parameters; `step(batches)` is one optimizer step over micro batches."""

    def __init__(self, proto, config, groups=None):
        self.parameters = {k: torch.tensor(v, requires_grad=True) for k, v in parameters(proto).items()}
        (kind, keys), = config["optimizer"].items()
        keys = {k: v for k, v in keys.items() if k != "groups"}
        kinds = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}
        self.optimizer = kinds[kind](groups(self.parameters) if groups else list(self.parameters.values()), foreach=False, **keys)
        scale = config.get("loss_scale", {})
        self.scaler = torch.amp.GradScaler("cpu", **{"enabled": False, **scale})
        self.clip = config.get("clip", {})

    def logits(self, x):
        p, value = self.parameters, torch.from_numpy(x)
        for i in range(1, len(p) // 2 + 1):
            value = value @ p[f"fc{i}.weight"] + p[f"fc{i}.bias"]
            value = F.relu(value) if i < len(p) // 2 else value
        return value

    def step(self, *micro):
        self.optimizer.zero_grad()
        for batch in micro:
            loss = F.cross_entropy(self.logits(batch["x"]), torch.from_numpy(batch["labels"]))
            self.scaler.scale(loss / len(micro)).backward()
        self.scaler.unscale_(self.optimizer)
        norm = None
        if "norm" in self.clip:
            norm = float(torch.nn.utils.clip_grad_norm_(self.parameters.values(), self.clip["norm"]))
        if "value" in self.clip:
            torch.nn.utils.clip_grad_value_(self.parameters.values(), self.clip["value"])
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return float(loss.detach()), norm

    def check(self, step, tolerance=1e-6):
        for name, parameter in self.parameters.items():
            np.testing.assert_allclose(step.state[name], parameter.detach().numpy(), rtol=tolerance, atol=tolerance, err_msg=name)


@needs_torch
@pytest.mark.parametrize("optimizer", IN_TORCH)
def test_optimizer_is_that_of_torch(optimizer):
    proto, settings = mlp(), config(optimizer)
    step, reference = Step(proto, settings), Torch(proto, settings)
    for batch in batches(10):
        loss, _ = reference.step(batch)
        np.testing.assert_allclose(step(**batch)["loss"], loss, rtol=1e-5)
        reference.check(step)
    assert step.state["train.applied_steps"] == 10


@needs_torch
@pytest.mark.parametrize("clip", [{"norm": 0.5}, {"value": 0.01}, {"norm": 0.5, "value": 0.05}, {"norm": 100.0}], ids=str)
@pytest.mark.parametrize("enabled", [False, True])
def test_clipping_is_that_of_torch(clip, enabled):
    proto, settings = mlp(), config(clip=clip, loss_scale={"enabled": enabled, "init_scale": 1024.0, "growth_interval": 3})
    step, reference = Step(proto, settings), Torch(proto, settings)
    for batch in batches(6):
        _, norm = reference.step(batch)
        results = step(**batch)
        if norm is not None:
            np.testing.assert_allclose(results["grad_norm"], norm, rtol=1e-5)
        reference.check(step)


@needs_torch
def test_parameter_groups_are_those_of_torch():
    groups = [{"name": "head", "match": "fc2.*", "lr": 0.2}, {"match": ".*bias", "weight_decay": 0.0}]
    settings = config()
    settings["optimizer"] = {"sgd": {"lr": 0.05, "momentum": 0.9, "weight_decay": 0.1, "groups": groups}}
    proto = mlp()
    step = Step(proto, settings)
    reference = Torch(proto, settings, lambda p: [
        {"params": [p["fc2.weight"], p["fc2.bias"]], "lr": 0.2},
        {"params": [p["fc1.bias"]], "weight_decay": 0.0}, {"params": [p["fc1.weight"]]}])
    assert step.state["lr"] == np.float32(0.05) and step.state["lr.head"] == np.float32(0.2)
    for batch in batches(5):
        reference.step(batch), step(**batch)
        reference.check(step)


@needs_torch
def test_the_host_sets_the_learning_rate():
    proto, settings = mlp(), config()
    step, reference = Step(proto, settings), Torch(proto, settings)
    for i, batch in enumerate(batches(4)):
        step.state["lr"] = np.float32(0.1 / (i + 1))
        reference.optimizer.param_groups[0]["lr"] = 0.1 / (i + 1)
        reference.step(batch), step(**batch)
        reference.check(step)


def numpy_lion(p, g, state, t, lr=0.001, decay=0.1, beta1=0.9, beta2=0.99):
    m = state.setdefault("m", np.zeros_like(p))
    direction = np.sign(beta1 * m + (1 - beta1) * g)
    state["m"] = beta2 * m + (1 - beta2) * g
    return p * (1 - lr * decay) - lr * direction


def numpy_lamb(p, g, state, t, lr=0.01, decay=0.1, beta1=0.9, beta2=0.999, eps=1e-6):
    state["m"] = beta1 * state.get("m", 0) + (1 - beta1) * g
    state["v"] = beta2 * state.get("v", 0) + (1 - beta2) * g * g
    r = state["m"] / (1 - beta1**t) / (np.sqrt(state["v"] / (1 - beta2**t)) + eps) + decay * p
    norms = np.linalg.norm(p), np.linalg.norm(r)
    return p - lr * (norms[0] / norms[1] if all(norms) else 1) * r


@needs_torch
@pytest.mark.parametrize("optimizer, rule", [("lion", numpy_lion), ("lamb", numpy_lamb)])
def test_optimizer_is_that_of_its_paper(optimizer, rule):
    proto = mlp()
    step, reference = Step(proto, config(optimizer)), Torch(proto, config("sgd"))
    states = {name: {} for name in reference.parameters}
    for t, batch in enumerate(batches(10), 1):
        reference.optimizer.zero_grad()
        F.cross_entropy(reference.logits(batch["x"]), torch.from_numpy(batch["labels"])).backward()
        with torch.no_grad():
            for name, p in reference.parameters.items():
                p.copy_(torch.from_numpy(rule(p.numpy().astype(float), p.grad.numpy().astype(float), states[name], t)))
        step(**batch)
        reference.check(step)


@needs_torch
@pytest.mark.parametrize("enabled", [False, True])
def test_u2_accumulation_is_that_of_torch(enabled):
    """Check, unscale and update once, after the last micro step; the scale does not change inside the window."""
    proto, settings = mlp(), config("adamw", accumulate=4, clip={"norm": 0.5}, loss_scale={"enabled": enabled, "growth_interval": 1})
    step, reference = Step(proto, settings), Torch(proto, settings)
    scale = 65536.0
    for window in range(3):
        micro = batches(4, seed=window)
        _, norm = reference.step(*micro)
        for i, batch in enumerate(micro):
            before = step.snapshot()
            results = step(**batch)
            assert results["found_inf"] == 0
            if i < 3:
                kept = [n for n in before if not n.startswith("accumulated_grad.") and n != "train.iteration"]
                assert_same_bits(step.state, before, kept)
                assert results["grad_norm"] == 0
        np.testing.assert_allclose(results["grad_norm"], norm, rtol=1e-5)
        reference.check(step)
        assert step.state["train.applied_steps"] == window + 1 and step.state["train.iteration"] == 4 * (window + 1)
        assert all(not v.any() for k, v in step.state.items() if k.startswith("accumulated_grad."))
        if enabled:
            scale *= 2
            assert step.state["scaler.scale"] == scale


def test_u2_an_overflow_in_any_micro_step_skips_the_window():
    step = Step(mlp(), config("adam", accumulate=3, loss_scale={"enabled": True}))
    before = step.snapshot()
    for i, batch in enumerate(batches(3)):
        results = step(**(overflowing(batch) if i == 1 else batch))
    assert results["found_inf"] == 1
    assert_same_bits(step.state, before, [n for n in before if n.split(".")[0] in ("fc1", "fc2", "exp_avg", "exp_avg_sq")])
    assert step.state["scaler.scale"] == 32768 and step.state["train.skipped"] == 1
    assert step(**batches(1)[0])["found_inf"] == 0
    assert all(np.isfinite(v).all() for v in step.state.values())


@needs_torch
def test_half_weight_gradients_overflow_where_torch_does():
    """A policy that imitates PyTorch rounds weight gradients to f16, which overflow there and skip the step; ours stay finite."""
    batch = batches(1)[0]
    batch["x"] = batch["x"] * np.float32(16)
    found = {}
    for half in (None, True, False):
        autocast = {"dtype": "f16", "policy": "torch-cpu", **({} if half is None else {"half_weight_gradients": half})}
        found[half] = float(Step(mlp(), scaled(autocast=autocast, init_scale=65536.0))(**batch)["found_inf"])
    p = Torch(mlp(), config()).parameters
    with torch.autocast("cpu", torch.float16):
        x = torch.from_numpy(batch["x"])
        hidden = F.relu(x @ p["fc1.weight"] + p["fc1.bias"])
        loss = F.cross_entropy(hidden @ p["fc2.weight"] + p["fc2.bias"], torch.from_numpy(batch["labels"]))
    (loss * 65536).backward()
    expected = float(any(not torch.isfinite(v.grad).all() for v in p.values()))
    assert expected == 1 and found == {None: 1, True: 1, False: 0}


# Losses


@needs_torch
@pytest.mark.parametrize("loss", [
    {"softmax_cross_entropy": {"ignore_index": 1}}, {"softmax_cross_entropy": {"reduction": "sum"}},
    {"softmax_cross_entropy": {"label_smoothing": 0.1}}, {"softmax_cross_entropy": {"label_smoothing": 0.1, "ignore_index": 1}},
    {"softmax_cross_entropy": {"label_smoothing": 1, "reduction": "sum", "ignore_index": 2}},
    {"mse": {}}, {"mse": {"reduction": "sum"}}, {"l1": {}}, {"huber": {"delta": 0.5}}, {"huber": {}}, {"bce_with_logits": {}},
], ids=str)
def test_loss_is_that_of_torch(loss):
    """Value and first update."""
    (kind, keys), = loss.items()
    names = {"softmax_cross_entropy": "cross_entropy", "mse": "mse_loss", "l1": "l1_loss", "huber": "huber_loss",
             "bce_with_logits": "binary_cross_entropy_with_logits"}
    proto, settings = mlp(), config("sgd")
    settings["loss"] = {kind: {"logits": "logits", "labels": "labels", **keys}}
    step, reference = Step(proto, settings), Torch(proto, settings)
    batch = batches(1)[0]
    if kind != "softmax_cross_entropy":
        batch["labels"] = np.random.default_rng(3).random((4, 3), dtype=np.float32)
    loss = getattr(F, names[kind])(reference.logits(batch["x"]), torch.from_numpy(batch["labels"]), **keys)
    loss.backward()
    reference.optimizer.step()
    np.testing.assert_allclose(step(**batch)["loss"], loss.detach().numpy(), rtol=1e-5)
    reference.check(step)


@needs_torch
def test_a_bce_loss_has_a_gradient_at_zero():
    proto = mlp()
    for t in proto.graph.initializer:
        if t.name.startswith("fc2"):
            t.raw_data = bytes(len(t.raw_data))
    settings = config("sgd")
    settings["loss"] = {"bce_with_logits": {"logits": "logits", "labels": "labels"}}
    step, reference = Step(proto, settings), Torch(proto, settings)
    batch = {**batches(1)[0], "labels": np.ones((4, 3), np.float32)}
    F.binary_cross_entropy_with_logits(reference.logits(batch["x"]), torch.from_numpy(batch["labels"])).backward()
    reference.optimizer.step()
    step(**batch)
    reference.check(step)


@needs_torch
def test_a_weighted_sum_of_losses_is_that_of_torch():
    proto, settings = mlp(), config("sgd")
    settings["loss"] = {"sum": [{"softmax_cross_entropy": {"logits": "logits", "labels": "labels"}, "weight": 0.5},
                                {"mse": {"logits": "h1", "labels": "target"}}]}
    step, reference = Step(proto, settings), Torch(proto, settings)
    batch = batches(1)[0]
    target = np.random.default_rng(3).random((4, 16), dtype=np.float32)
    p = reference.parameters
    hidden = torch.from_numpy(batch["x"]) @ p["fc1.weight"] + p["fc1.bias"]
    loss = 0.5 * F.cross_entropy(reference.logits(batch["x"]), torch.from_numpy(batch["labels"])) + F.mse_loss(hidden, torch.from_numpy(target))
    loss.backward()
    reference.optimizer.step()
    np.testing.assert_allclose(step(**batch, target=target)["loss"], loss.detach().numpy(), rtol=1e-5)
    reference.check(step)


@needs_torch
@pytest.mark.parametrize("guard", [False, True])
def test_batch_norm_is_that_of_torch(guard):
    """Batch statistics, unbiased running variance; running statistics move in skipped steps too, unless they are guarded."""
    from onnx import helper, numpy_helper
    from training_step import model
    rng = np.random.default_rng(0)
    inits = {"w": rng.standard_normal((2, 3)), "bn.weight": rng.random(3), "bn.bias": rng.random(3), "bn.running_mean": rng.random(3),
             "bn.running_var": rng.random(3) + 0.5}
    inits = {k: v.astype(np.float32) for k, v in inits.items()}
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]),
             helper.make_node("BatchNormalization", ["h", *list(inits)[1:]], ["logits"], "bn", epsilon=1e-3, momentum=0.8)]
    proto = model(nodes, [numpy_helper.from_array(v, k) for k, v in inits.items()], {"x": [5, 2]}, {"logits": [5, 3]})
    settings = scaled("sgd", init_scale=16.0)
    settings["guard_buffers"] = guard
    # ONNX Runtime's own operator makes the running variance unbiased against ONNX's definition.
    step = Step(proto, settings, "--decompose-onnx")
    w = torch.tensor(inits["w"], requires_grad=True)
    bn = torch.nn.BatchNorm1d(3, eps=1e-3, momentum=0.2)
    bn.load_state_dict({k[3:]: torch.tensor(v) for k, v in inits.items() if k != "w"}, strict=False)
    optimizer = torch.optim.SGD([w, *bn.parameters()], 0.05)
    for batch in batches(3, batch=5, features=2):
        optimizer.zero_grad()
        F.cross_entropy(bn(torch.from_numpy(batch["x"]) @ w), torch.from_numpy(batch["labels"])).backward()
        optimizer.step()
        step(**batch)
        for name, value in [("w", w), *((f"bn.{k}", v) for k, v in bn.state_dict().items() if k != "num_batches_tracked")]:
            np.testing.assert_allclose(step.state[name], value.detach().numpy(), rtol=1e-5, atol=1e-6, err_msg=name)
    before = step.snapshot()
    step.state["scaler.scale"] = np.float32(np.inf)
    batch = batches(1, batch=5, features=2, seed=9)[0]
    assert step(**batch)["found_inf"] == 1
    assert_same_bits(step.state, before, ["w", "bn.weight", "bn.bias"])
    assert (step.state["bn.running_mean"].tobytes() == before["bn.running_mean"].tobytes()) == guard
    assert np.isfinite(step.state["bn.running_var"]).all()


@pytest.mark.parametrize("policy", ["skip", "error", "continue"])
@pytest.mark.parametrize("count", [1, 2])
def test_a_non_finite_loss_skips_on_request(policy, count):
    """Huge logits whose cross entropy is infinite; with micro steps the first one is bad."""
    step = Step(mlp(), config("sgd", nonfinite_loss=policy, accumulate=count))
    before = step.snapshot()
    bad, good = overflowing(batches(1)[0]), batches(1)[0]
    results = [step(**batch) for batch in [bad, good][:count]]
    assert not np.isfinite(results[0]["loss"])
    same = step.state["fc1.weight"].tobytes() == before["fc1.weight"].tobytes()
    assert same == (policy != "continue")
    if policy != "continue":
        assert step.state["train.skipped"] == 1


def test_flags_name_the_non_finite_gradient():
    """Only the product of a huge input with the cotangent overflows; flags stand in the order backward makes the gradients."""
    step = Step(mlp(), scaled())
    flags = [name for name in step.outputs if name.startswith("found_inf.")]
    assert flags.index("found_inf.fc2.weight") < flags.index("found_inf.fc1.weight") and len(flags) == 4
    step.state["fc1.weight"] = np.zeros_like(step.state["fc1.weight"])
    results = step(**overflowing(batches(1)[0]))
    assert [name for name in flags if results[name]] == ["found_inf.fc1.weight"]
    assert not any(name.startswith("found_inf.") for name in Step(mlp(), config(gradient_flags=False)).outputs)


def test_outputs_are_dropped_on_request():
    assert Step(mlp(), config(outputs="drop")).outputs[:3] == ["loss", "found_inf", "grad_norm"]
    assert Step(mlp(), config(outputs=["logits"])).outputs[:3] == ["loss", "logits", "found_inf"]


# Loss scaling

#: Overflowing steps of the golden traces, the scale after each step: start 1024, growth every 3 steps.
TRACE = "FFFFIFFFFIIFFFFF"
TRACES = {
    "torch": ({}, [1024, 1024, 2048, 2048, 1024, 1024, 1024, 2048, 2048, 1024, 512, 512, 512, 1024, 1024, 1024]),
    "megatron": ({"hysteresis": 2}, [1024, 1024, 2048, 2048, 2048, 2048, 2048, 4096, 4096, 4096, 2048, 2048, 2048, 4096, 4096, 4096]),
}


@pytest.mark.parametrize("name", TRACES)
def test_golden_trace_of_the_scale(name):
    keys, expected = TRACES[name]
    step = Step(mlp(), scaled(init_scale=1024.0, growth_interval=3, **keys))
    found = []
    for letter, batch in zip(TRACE, batches(len(TRACE))):
        results = step(**(overflowing(batch) if letter == "I" else batch))
        assert results["found_inf"] == (letter == "I")
        found.append(float(step.state["scaler.scale"]))
    assert found == expected
    assert step.state["train.skipped"] == TRACE.count("I") and step.state["train.applied_steps"] == TRACE.count("F")


@needs_torch
def test_scaler_is_that_of_torch():
    """The states after every step, as GradScaler's state_dict gives them."""
    proto, settings = mlp(), scaled("adamw", init_scale=256.0, growth_interval=2)
    step, reference = Step(proto, settings), Torch(proto, settings)
    for letter, batch in zip("FIFFFFIIFFFFFI", batches(14)):
        batch = overflowing(batch) if letter == "I" else batch
        reference.step(batch), step(**batch)
        state = reference.scaler.state_dict()
        assert step.state["scaler.scale"] == state["scale"] and step.state["scaler.growth_tracker"] == state["_growth_tracker"]
        reference.check(step)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("first", [False, True], ids=["later", "first"])
def test_u4_a_skipped_step_changes_no_bit(optimizer, first):
    """Parameters, optimizer states and the step count keep every bit; as if the step had never been."""
    step, other = Step(mlp(), scaled(optimizer)), Step(mlp(), scaled(optimizer))
    if not first:
        step(**batches(1)[0]), other(**batches(1)[0])
    before = step.snapshot()
    results = step(**overflowing(batches(1, seed=5)[0]))
    assert results["found_inf"] == 1
    assert_same_bits(step.state, before, [n for n in before if n not in (
        "scaler.scale", "scaler.growth_tracker", "scaler.hysteresis_left", "train.iteration", "train.skipped", "train.consecutive_skips")])
    other.state["scaler.scale"] = step.state["scaler.scale"]
    step(**batches(1, seed=6)[0]), other(**batches(1, seed=6)[0])
    assert_same_bits(step.state, other.state, [n for n in before if n.split(".")[0] not in ("scaler", "train")])


def test_u4_one_bad_element_is_enough():
    """NaN in the last element of one row of the input reaches a single column of one gradient."""
    step = Step(mlp(batch=3, sizes=(7, 5, 3)), scaled("adam"))
    batch = batches(1, batch=3, features=7)[0]
    batch["x"][2, 6] = np.inf
    before = step.snapshot()
    assert step(**batch)["found_inf"] == 1
    assert_same_bits(step.state, before, ["fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"])


def test_u5_step_count_advances_on_applied_steps_only():
    step = Step(mlp(), scaled("adam"))
    for letter, batch in zip("FIIF", batches(4)):
        step(**(overflowing(batch) if letter == "I" else batch))
    assert [int(step.state[f"train.{n}"]) for n in ("applied_steps", "iteration", "skipped", "consecutive_skips")] == [2, 4, 2, 0]


def test_u6_tiny_gradients_move_adam():
    """eps = 1e-8 and squares of 1e-14 live in float32, under f16 autocast, too."""
    settings = scaled("adam", {"dtype": "f16", "policy": "torch-cpu"}, init_scale=65536.0)
    settings["optimizer"] = {"adam": {"lr": 0.01}}
    step = Step(mlp(), settings)
    batch = batches(1)[0]
    batch["x"] = batch["x"] * np.float32(1e-4)
    before = step.snapshot()
    step(**batch)
    assert step.state["exp_avg_sq.fc1.weight"].max() < 1e-10
    moved = np.abs(step.state["fc1.weight"] - before["fc1.weight"])
    assert moved.max() > 0.009


@pytest.mark.parametrize("dtype, on", [("f16", True), ("bf16", False), (None, False)])
def test_u8_scaling_is_on_for_f16_alone(dtype, on):
    settings = config(**({"autocast": {"dtype": dtype}} if dtype else {}))
    run, text = build(mlp(), settings)
    assert run.ok, run.describe()
    assert (b"scaler.scale" in text) == on and (b"train.skipped" in text) == on


def test_u8_without_scaling_the_check_may_skip():
    step = Step(mlp(), config(nonfinite_gradients="skip"))
    before = step.snapshot()
    assert step(**overflowing(batches(1)[0]))["found_inf"] == 1
    assert_same_bits(step.state, before, ["fc1.weight", "momentum_buffer.fc2.bias", "train.applied_steps"])
    assert step.state["train.skipped"] == 1 and "scaler.scale" not in step.state


def test_u8_without_scaling_non_finite_gradients_are_applied():
    """As PyTorch does without a GradScaler."""
    step = Step(mlp(), config())
    assert step(**overflowing(batches(1)[0]))["found_inf"] == 1
    assert np.isnan(step.state["fc1.weight"]).any() and step.state["train.applied_steps"] == 1


@pytest.mark.parametrize("clip", [{"norm": 1.0}, {"value": 1.0}], ids=str)
def test_u9_clipping_hides_no_infinity(clip):
    settings = scaled()
    settings["clip"] = clip
    step = Step(mlp(), settings)
    results = step(**overflowing(batches(1)[0]))
    assert results["found_inf"] == 1 and not np.isfinite(results["grad_norm"])


def test_u10_the_reported_loss_is_unscaled_in_skipped_steps_too():
    """A scale that overflows the gradients, not the loss."""
    batch = batches(1)[0]
    plain = Step(mlp(), config())
    step = Step(mlp(), scaled(init_scale=2.0**126))
    batch["x"] = batch["x"] * np.float32(1e4)
    results = step(**batch)
    assert results["found_inf"] == 1
    assert results["loss"].tobytes() == plain(**batch)["loss"].tobytes()


def test_u11_the_scale_stays_within_its_bounds():
    step = Step(mlp(), scaled(init_scale=4.0, growth_interval=1, min_scale=2.0, max_scale=16.0))
    found = []
    for letter, batch in zip("FFFFIIIII", batches(9)):
        step(**(overflowing(batch) if letter == "I" else batch))
        found.append(float(step.state["scaler.scale"]))
    assert found == [8, 16, 16, 16, 8, 4, 2, 2, 2]


def test_u11_the_scale_does_not_grow_to_infinity():
    step = Step(mlp(), scaled(init_scale=2.0**126, growth_interval=1))
    step.state["scaler.scale"] = np.float32(2.0**127)
    batch = batches(1)[0]
    batch["x"] = np.zeros_like(batch["x"])
    for name in ("fc1.weight", "fc2.weight"):
        step.state[name] = np.zeros_like(step.state[name])
    step.state["fc2.bias"] = np.array([0, -100, -100], np.float32)
    assert step(**{**batch, "labels": np.zeros(4, np.int64)})["found_inf"] == 0
    assert step.state["scaler.scale"] == np.float32(2.0**127) and step.state["scaler.growth_tracker"] == 0


@pytest.mark.parametrize("autocast", [None, {"dtype": "f16", "policy": "balanced"},
                                      {"dtype": "f16", "policy": "torch-cpu", "half_weight_gradients": False}], ids=str)
@pytest.mark.parametrize("optimizer", ["momentum", "adamw", "lamb"])
def test_u3_power_of_two_scales_give_the_same_bits(autocast, optimizer):
    """Where nothing over- or underflows, unscaled gradients and all they lead to are the same for any power of two. (Summed over few
    rows, no gradient is small enough to be subnormal in f16 at scale 1.)"""
    steps = []
    for scale in (1.0, 2.0**10, 2.0**16):
        settings = scaled(optimizer, autocast, init_scale=scale, growth_interval=1000)
        settings["clip"] = {"norm": 0.5}
        settings["loss"]["softmax_cross_entropy"]["reduction"] = "sum"
        steps.append(Step(mlp(batch=2), settings))
    for batch in batches(5, batch=2):
        results = [step(**batch) for step in steps]
        for other, result in zip(steps[1:], results[1:]):
            assert result["found_inf"] == 0
            for name in ("loss", "grad_norm"):
                assert result[name].tobytes() == results[0][name].tobytes(), name
            assert_same_bits(other.state, steps[0].state, [n for n in other.state if n != "scaler.scale"])


def test_b5_the_scale_never_passes_through_a_half():
    """2^16 is infinite in f16: with the mean over 4 rows the loss still sends finite gradients into f16."""
    for policy in ("balanced", "torch-cpu", "torch-cuda", "contractions"):
        step = Step(mlp(), scaled(autocast={"dtype": "f16", "policy": policy}, init_scale=65536.0))
        results = step(**batches(1)[0])
        assert results["found_inf"] == 0 and results["grad_norm"] > 0, policy


def test_b5_a_loss_the_model_computes_is_float32():
    from onnx import helper
    from training_step import model, numpy_helper
    ones = numpy_helper.from_array(np.full((12, 1), 0.125, np.float32), "mean")
    flat = numpy_helper.from_array(np.array([1, 12]), "flat")
    proto = mlp()
    nodes = [*proto.graph.node, helper.make_node("Mul", ["logits", "logits"], ["squares"]),
             helper.make_node("Reshape", ["squares", "flat"], ["row"]), helper.make_node("MatMul", ["row", "mean"], ["penalty"])]
    proto = model(nodes, [*proto.graph.initializer, ones, flat], {"x": [4, 8]}, {"logits": [4, 3], "penalty": [1, 1]})
    settings = {"loss": "penalty", "frozen": ["mean"], "optimizer": {"sgd": {"lr": 0.01}}, "autocast": {"dtype": "f16", "policy": "torch-cpu"},
                "loss_scale": {"init_scale": 2.0**17}}
    step = Step(proto, settings)
    assert "penalty" not in step.outputs and step.outputs[:2] == ["loss", "logits"]
    losses = [float(step(**batches(1)[0])["loss"]) for _ in range(8)]
    assert step.state["train.skipped"] < 8 and losses[-1] < losses[0]
