"""Training gets where PyTorch gets: digits to its accuracy, a character model to its loss."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: utils/setup --torch")
datasets = pytest.importorskip("sklearn.datasets", reason="scikit-learn is not installed: utils/setup --torch")

import torch_models  # noqa: E402
import training  # noqa: E402
from harness import ROOT  # noqa: E402

ADAM = {"adam": {"lr": 2e-3}}


class DigitsCNN(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn = torch.nn.Conv2d(1, 8, 3, padding=1), torch.nn.BatchNorm2d(8)
        self.conv2, self.fc = torch.nn.Conv2d(8, 16, 3, padding=1), torch.nn.Linear(16 * 4 * 4, 10)

    def forward(self, x):
        x = torch.nn.functional.max_pool2d(torch.relu(self.bn(self.conv1(x))), 2)
        return self.fc(torch.flatten(torch.relu(self.conv2(x)), 1))


def _digits(batch):
    images, labels = datasets.load_digits(return_X_y=True)
    images = (images / 16).astype(np.float32).reshape(-1, 1, 8, 8)
    order = np.random.default_rng(0).permutation(len(images))
    images, labels = images[order], labels[order].astype(np.int64)
    cut = 1500 // batch * batch
    split = [({"x": images[i:i + batch]}, labels[i:i + batch]) for i in range(0, cut, batch)]
    rest = (len(images) - cut) // batch * batch
    return split, images[cut:cut + rest], labels[cut:cut + rest]


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32"])
def test_digits_reach_the_accuracy_of_torch(tmp_path, dtype):
    batch, epochs = 50, 6
    batches, images, labels = _digits(batch)
    torch.manual_seed(0)
    module = DigitsCNN()
    config = training.make_config({"loss": torch_models.CROSS_ENTROPY, "optimizer": ADAM}, dtype, {} if dtype == "f16" else None)
    step = training.compile_step(tmp_path, torch_models.export(module, batches[0][0]), config)
    training.train_torch(module, config, batches * epochs, dtype)
    module.eval()
    with torch.no_grad():
        expected = (module(torch.from_numpy(images)).argmax(1).numpy() == labels).mean()
    training.write_data(tmp_path / "train.npz", batches)
    np.savez(tmp_path / "test.npz", x=images)
    weights, output = tmp_path / "last.safetensors", tmp_path / "out.npz"
    training.run(training.BIN / "amp-run", "train", step, "--data", tmp_path / "train.npz", "--epochs", epochs, "--save", weights)
    training.run(training.BIN / "amp-run", "infer", step, "--weights", weights, "--data", tmp_path / "test.npz", "-o", output)
    found = (np.load(output)["logits"].argmax(1) == labels).mean()
    assert found > 0.9 and found > expected - 0.02


def test_a_character_model_reaches_the_loss_of_torch(tmp_path):
    text = np.frombuffer((ROOT / "LICENSE").read_bytes(), np.uint8)
    alphabet, ids = np.unique(text, return_inverse=True)
    length, count, steps = 16, 8, 300
    starts = np.random.default_rng(0).integers(0, len(ids) - length - 1, (steps, count))
    batches = [({"ids": np.stack([ids[s:s + length] for s in row])}, np.concatenate([ids[s + 1:s + length + 1] for s in row])) for row in starts]
    torch.manual_seed(0)
    module = torch_models.Decoder(len(alphabet))
    config = training.make_config({"loss": torch_models.CROSS_ENTROPY, "optimizer": {"adamw": {"lr": 3e-3}}}, "bf16")
    step = training.compile_step(tmp_path, torch_models.export(module, batches[0][0]), config)
    training.write_data(tmp_path / "data.npz", batches)
    expected = training.train_torch(module, config, batches, "bf16")
    found = training.train_artifact(step, tmp_path / "data.npz", tmp_path / "log.jsonl")
    last = [np.mean([r["loss"] for r in records[-30:]]) for records in (found, expected)]
    assert last[0] < 0.75 * found[0]["loss"] and last[0] < last[1] * 1.05
