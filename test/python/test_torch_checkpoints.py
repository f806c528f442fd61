"""Checkpoints of PyTorch scripts: state_dicts of model, optimizer and GradScaler in one .pt file, read and written by amp-run."""
import json

import numpy as np
import pytest

from harness import ROOT, run_process
from runtime_artifact import AMP_RUN, read_safetensors

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")

BATCH, STEPS = 8, 6


def module():
    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.Linear(5, 16, bias=False), torch.nn.BatchNorm1d(16), torch.nn.ReLU(), torch.nn.Linear(16, 3))


def run(*command):
    done = run_process([str(part) for part in command], timeout=120)
    assert done.code == 0, done.stderr
    return done


def refused(*command):
    done = run_process([str(part) for part in command], timeout=120)
    assert done.code == 1, done.stderr
    return done.stderr


OPTIMIZERS = {
    "sgd": ({"lr": 0.1, "momentum": 0.9}, torch.optim.SGD),
    "adamw": ({"lr": 0.01, "weight_decay": 0.1, "amsgrad": True}, torch.optim.AdamW),
}


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    folder = tmp_path_factory.mktemp("torch-checkpoints")
    torch.onnx.export(module(), (torch.zeros(BATCH, 5),), folder / "m.onnx", input_names=["x"], output_names=["y"], dynamo=False,
                      training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False)
    for kind, (settings, _) in OPTIMIZERS.items():
        config = {"loss": {"softmax_cross_entropy": {"logits": "y", "labels": "labels"}}, "optimizer": {kind: settings},
                  "loss_scale": {"enabled": True, "init_scale": 1024.0, "growth_interval": 2}}
        (folder / f"{kind}.json").write_text(json.dumps(config))
        run(ROOT / "build/bin/amp-compile", folder / "m.onnx", "--training", folder / f"{kind}.json", "-o", folder / kind)
    generator = np.random.default_rng(0)
    np.savez(folder / "d.npz", x=generator.standard_normal((BATCH * STEPS, 5)).astype(np.float32), labels=generator.integers(0, 3, BATCH * STEPS))
    return folder


class Trainer:
    """The same training in PyTorch."""
    def __init__(self, folder, kind, **changes):
        settings, optimizer = OPTIMIZERS[kind]
        self.data, self.module = np.load(folder / "d.npz"), module()
        self.optimizer = optimizer(self.module.parameters(), **{**settings, **changes})
        self.scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=2)

    def train(self, first, last):
        losses = []
        for step in range(first, last):
            rows = slice(step * BATCH, (step + 1) * BATCH)
            loss = torch.nn.functional.cross_entropy(self.module(torch.from_numpy(self.data["x"][rows])), torch.from_numpy(self.data["labels"][rows]))
            self.optimizer.zero_grad()
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
            losses.append(loss.item())
        return losses

    def save(self, path, **more):
        torch.save({"model": self.module.state_dict(), "optimizer": self.optimizer.state_dict(), "scaler": self.scaler.state_dict(), "epoch": 3, **more}, path)


def rest_of(folder, path):
    """A file of the steps that are left after three."""
    data = np.load(folder / "d.npz")
    np.savez(path, **{key: data[key][3 * BATCH:] for key in data.files})
    return path


def train(folder, kind, data, *options):
    (folder / "log.jsonl").unlink(missing_ok=True)
    run(AMP_RUN, "train", folder / kind, "--data", data, "--no-shuffle", "--quiet", "--log", folder / "log.jsonl", *options)
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_goes_on_where_torch_stopped(work, tmp_path, kind):
    trainer = Trainer(work, kind)
    trainer.train(0, 3)
    trainer.save(tmp_path / "m.pt")
    rows = train(work, kind, rest_of(work, tmp_path / "rest.npz"), "--resume", tmp_path / "m.pt", "--save", tmp_path / "out.pt")
    losses = trainer.train(3, STEPS)
    assert np.allclose([row["loss"] for row in rows], losses, rtol=1e-5)
    assert [row["scale"] for row in rows][-1] == trainer.scaler.get_scale() == 1024.0 * 8
    # And back: what amp-run saved is the state of the module, the optimizer and the scaler.
    found = torch.load(tmp_path / "out.pt", weights_only=True)
    other = Trainer(work, kind)
    found["model"].update({key: value for key, value in trainer.module.state_dict().items() if key.endswith("num_batches_tracked")})
    other.module.load_state_dict(found["model"])
    other.optimizer.load_state_dict(found["optimizer"])
    other.scaler.load_state_dict(found["scaler"])
    for name, value in trainer.module.state_dict().items():
        assert torch.allclose(other.module.state_dict()[name], value, rtol=1e-4, atol=1e-6), name
    for mine, theirs in zip(other.optimizer.state_dict()["state"].values(), trainer.optimizer.state_dict()["state"].values()):
        assert set(mine) == set(theirs)
        for key in mine:
            assert torch.allclose(mine[key], theirs[key], rtol=1e-3, atol=1e-6), key
    assert other.scaler.state_dict() == trainer.scaler.state_dict()
    assert found["optimizer"]["param_groups"][0]["param_names"] == ["0.weight", "1.weight", "1.bias", "3.weight", "3.bias"]
    assert np.allclose(other.train(0, 1), trainer.train(0, 1), rtol=1e-4)


def test_pt_resume_is_exact(work, tmp_path):
    for end in ("pt", "safetensors"):
        train(work, "adamw", work / "d.npz", "--steps", 3, "--save", tmp_path / f"a.{end}")
        train(work, "adamw", work / "d.npz", "--epochs", 2, "--resume", tmp_path / f"a.{end}", "--save", tmp_path / f"b.{end}")
    run(AMP_RUN, "save", work / "adamw", "--resume", tmp_path / "b.pt", "-o", tmp_path / "c.safetensors")
    assert (tmp_path / "c.safetensors").read_bytes() == (tmp_path / "b.safetensors").read_bytes()
    run(AMP_RUN, "save", work / "adamw", "--resume", tmp_path / "b.pt", "--layout", "torch", "-o", tmp_path / "w.pt")
    assert set(torch.load(tmp_path / "w.pt", weights_only=True)) == {
        "0.weight", "1.weight", "1.bias", "3.weight", "3.bias", "1.running_mean", "1.running_var"}


def test_wrapped_names_and_other_keys(work, tmp_path):
    """What DistributedDataParallel and torch.compile put before names; any names of the parts; tied tensors; weights alone."""
    trainer = Trainer(work, "sgd")
    trainer.train(0, 1)
    state = {f"module.{name}": value for name, value in trainer.module.state_dict().items()}
    torch.save({"model_state_dict": state, "optimizer_state_dict": trainer.optimizer.state_dict(), "amp": trainer.scaler.state_dict()}, tmp_path / "m.pt")
    run(AMP_RUN, "save", work / "sgd", "--resume", tmp_path / "m.pt", "-o", tmp_path / "m.safetensors")
    arrays = read_safetensors(tmp_path / "m.safetensors")[0]
    assert np.array_equal(arrays["model.0.weight"], trainer.module[0].weight.detach().numpy())
    assert np.array_equal(arrays["optimizer.momentum_buffer.3.bias"], trainer.optimizer.state[trainer.module[3].bias]["momentum_buffer"].numpy())
    tied = dict(trainer.module.state_dict())
    tied["head.weight"] = tied["0.weight"]
    torch.save({"state_dict": tied, "hyper_parameters": {"width": 16}}, tmp_path / "t.pt")
    run(AMP_RUN, "save", work / "sgd", "--weights", tmp_path / "t.pt", "-o", tmp_path / "t.safetensors")
    assert np.array_equal(read_safetensors(tmp_path / "t.safetensors")[0]["model.0.weight"], arrays["model.0.weight"])
    assert "unknown to the artifact: 'model.other'" in refused_weights(work, tmp_path, {**tied, "other": torch.zeros(3)})


def refused_weights(work, tmp_path, state):
    torch.save({"state_dict": state}, tmp_path / "u.pt")
    return refused(AMP_RUN, "info", work / "sgd", "--weights", tmp_path / "u.pt")


def test_refused(work, tmp_path):
    def attempt(kind="adamw", change=lambda root: None, like="adamw", **settings):
        trainer = Trainer(work, like, **settings)
        trainer.train(0, 2)
        trainer.save(tmp_path / "m.pt")
        root = torch.load(tmp_path / "m.pt")
        change(root)
        torch.save(root, tmp_path / "m.pt")
        return refused(AMP_RUN, "info", work / kind, "--resume", tmp_path / "m.pt")
    assert "weight_decay of 0.weight 0.2 instead of 0.1" in attempt(weight_decay=0.2)
    assert "betas[1] 0.5 instead of 0.999" in attempt(betas=(0.9, 0.5))
    assert "not that of 'adamw'" in attempt(like="sgd", momentum=0.0, weight_decay=0.1)
    assert "not that of 'sgd'" in attempt(kind="sgd")
    assert "missing: 'optimizer.exp_avg.0.weight'" in attempt(change=lambda root: root["optimizer"]["state"].pop(0))
    assert "growth_interval 9" in attempt(change=lambda root: root["scaler"].update(growth_interval=9))
    assert "missing: 'scaler.scale' and 'scaler.growth_tracker'" in attempt(change=lambda root: root.pop("scaler")).replace(", ", " and ")
    assert "one count for all" in attempt(change=lambda root: root["optimizer"]["state"][2].update(step=torch.tensor(9.0)))
    assert "named_parameters()" in attempt(change=lambda root: root["optimizer"]["param_groups"][0]["params"].pop())
    assert "holds no model's tensors" in attempt(change=lambda root: root.pop("model"))
    assert "missing" in attempt(change=lambda root: root.pop("optimizer"))
    shape = attempt(change=lambda root: root["optimizer"]["state"][0].update(exp_avg=torch.zeros(2)))
    assert "optimizer.exp_avg.0.weight (f32[2] instead of f32[16,5])" in shape
