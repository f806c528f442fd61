"""amp-run and libamp_runtime on a hand-written artifact: training against NumPy, checkpoints, the C interface."""
import json
import os
import signal
import subprocess
import time

import numpy as np
import pytest

from runtime_artifact import (AMP_RUN, B, FINGERPRINT, LIBRARY, I, O, Step, Twin, amp_run, compile_code, initial, make_data, manifest, read_safetensors,
                              safetensors_bytes, write_artifact)

pytestmark = pytest.mark.skipif(not AMP_RUN.is_file() or not LIBRARY.is_file(), reason="amp-run is not built")


@pytest.fixture(scope="module")
def code(tmp_path_factory):
    return compile_code(tmp_path_factory.mktemp("code"))


@pytest.fixture
def step(tmp_path, code):
    return write_artifact(tmp_path / "step", code)


@pytest.fixture
def data(tmp_path):
    arrays = make_data(96)
    np.savez(tmp_path / "d.npz", **arrays)
    return tmp_path / "d.npz", arrays


def run_ok(*arguments, **options):
    run = amp_run(*arguments, **options)
    assert run.ok, run.describe()
    return run


def rows_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def without_time(rows):
    return [{k: v for k, v in row.items() if k != "seconds"} for row in rows]


def test_train_matches_numpy(step, data, tmp_path):
    """Loss within float32's error, scale and skips exactly; a skip is forced by a scale that doubles every 7 steps."""
    path, arrays = data
    run_ok("train", step, "--data", path, "--epochs", 4, "--no-shuffle", "--log", tmp_path / "log.jsonl", "--save", tmp_path / "last.safetensors")
    rows, twin, skips = rows_of(tmp_path / "log.jsonl"), Twin(), 0
    assert len(rows) == 48
    for index, row in enumerate(rows):
        at = index % 12 * B
        want = twin.step(arrays["x"][at:at + B], arrays["y"][at:at + B])
        assert row["step"] == index + 1 and row["epoch"] == index // 12 + 1
        assert (row["scale"], row["skipped"]) == (want["scale"], want["skipped"]), index
        assert row["loss"] == pytest.approx(want["loss"], rel=1e-5)
        if want["skipped"]:
            assert row["grad_norm"] is None and row["first_non_finite"] == "w"
            skips += 1
        else:
            assert row["grad_norm"] == pytest.approx(want["grad_norm"], rel=1e-4)
    assert skips >= 2
    saved, metadata = read_safetensors(tmp_path / "last.safetensors")
    assert metadata["fingerprint"] == FINGERPRINT and json.loads(metadata["config"])["optimizer"]["sgd"]["lr"] == 0.1
    np.testing.assert_allclose(saved["model.w"], twin.w, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(saved["optimizer.momentum_buffer.w"], twin.mw, rtol=1e-3, atol=1e-5)
    assert saved["scaler.scale"] == twin.scale and saved["scaler.growth_tracker"] == twin.tracker
    assert saved["train.applied_steps"] == twin.applied and saved["train.skipped"] == skips and saved["train.iteration"] == 48


@pytest.mark.parametrize("shuffle", ["--no-shuffle", "--seed=3"])
@pytest.mark.parametrize("stop", [1, 12, 17])
def test_resume_is_exact(step, data, tmp_path, shuffle, stop):
    """A run stopped in the middle of an epoch and resumed leaves the same files as one that was not, log included."""
    path, _ = data
    common = ["train", step, "--data", path]
    whole = ["--save", tmp_path / "whole.safetensors", "--log", tmp_path / "whole.jsonl"]
    parts = ["--save", tmp_path / "parts.safetensors", "--log", tmp_path / "parts.jsonl"]
    run_ok(*common, shuffle, "--steps", 40, *whole)
    run_ok(*common, shuffle, "--steps", stop, *parts)
    run_ok(*common, "--resume", tmp_path / "parts.safetensors", "--steps", 40, *parts)
    assert (tmp_path / "whole.safetensors").read_bytes() == (tmp_path / "parts.safetensors").read_bytes()
    assert without_time(rows_of(tmp_path / "whole.jsonl")) == without_time(rows_of(tmp_path / "parts.jsonl"))


def test_shuffle_depends_on_seed_alone(step, data, tmp_path):
    path, _ = data
    def losses(*options):
        run_ok("train", step, "--data", path, "--epochs", 2, "--log", tmp_path / "log.jsonl", *options)
        return [row["loss"] for row in rows_of(tmp_path / "log.jsonl")]
    first = losses("--seed", 1)
    assert first == losses("--seed", 1, "--threads", 1) and first != losses("--seed", 2) and first != losses("--no-shuffle")


def test_shuffle_is_a_permutation(step, tmp_path):
    """With a rate of zero the losses of an epoch have the sum of those in order, whatever the order."""
    np.savez(tmp_path / "d.npz", **make_data(64))
    sums = []
    for option in ("--no-shuffle", "--seed=1", "--seed=2"):
        run_ok("train", step, "--data", tmp_path / "d.npz", option, "--lr", 0, "--log", tmp_path / "log.jsonl")
        sums.append(sum(row["loss"] for row in rows_of(tmp_path / "log.jsonl")))
    np.testing.assert_allclose(sums, sums[0], rtol=1e-6)


def test_last_batch(step, tmp_path):
    arrays = make_data(20)
    np.savez(tmp_path / "d.npz", **arrays)
    common = ["train", step, "--data", tmp_path / "d.npz", "--no-shuffle", "--log", tmp_path / "log.jsonl"]
    assert "the last 4 are left out of each epoch" in run_ok(*common).stderr
    assert len(rows_of(tmp_path / "log.jsonl")) == 2
    assert "filled up from the first rows" in run_ok(*common, "--last-batch", "wrap").stderr
    rows, twin = rows_of(tmp_path / "log.jsonl"), Twin()
    for index in range(3):
        at = np.arange(index * B, index * B + B) % 20
        want = twin.step(arrays["x"][at], arrays["y"][at])
    assert len(rows) == 3 and rows[2]["loss"] == pytest.approx(want["loss"], rel=1e-5)


def test_too_little_data(step, tmp_path):
    np.savez(tmp_path / "d.npz", **make_data(5))
    run = amp_run("train", step, "--data", tmp_path / "d.npz")
    assert run.code == 1 and "5 rows, a batch takes 8" in run.stderr
    run_ok("train", step, "--data", tmp_path / "d.npz", "--last-batch", "wrap")


def test_accumulate_logs_one_row_an_update(tmp_path, code, data):
    """Four calls an update: the loss is their mean, a window left over at the end waits for the next epoch."""
    form = manifest()
    form["accumulate"] = 4
    step = write_artifact(tmp_path / "step", code, form)
    path, arrays = make_data(80), None
    np.savez(tmp_path / "d.npz", **path)
    common = ["train", step, "--data", tmp_path / "d.npz", "--no-shuffle"]
    run_ok(*common, "--log", tmp_path / "log.jsonl", "--epochs", 1, "--save", tmp_path / "one.safetensors")
    rows, twin = rows_of(tmp_path / "log.jsonl"), Twin()
    losses = [twin.step(path["x"][i * B:i * B + B], path["y"][i * B:i * B + B])["loss"] for i in range(8)]
    assert [row["step"] for row in rows] == [1, 2]
    assert [row["loss"] for row in rows] == pytest.approx([np.mean(losses[:4]), np.mean(losses[4:])], rel=1e-5)
    run_ok(*common, "--epochs", 2, "--resume", tmp_path / "one.safetensors", "--save", tmp_path / "two.safetensors")
    run_ok(*common, "--epochs", 2, "--save", tmp_path / "whole.safetensors")
    assert (tmp_path / "two.safetensors").read_bytes() == (tmp_path / "whole.safetensors").read_bytes()
    assert read_safetensors(tmp_path / "two.safetensors")[0]["train.steps"] == 5
    run = amp_run("train", step, "--data", tmp_path / "d.npz", "--epochs", 0)
    assert run.ok and "nothing to do" in run.stderr
    np.savez(tmp_path / "small.npz", **make_data(24))
    run = amp_run("train", step, "--data", tmp_path / "small.npz")
    assert run.code == 1 and "an update takes 4 batches" in run.stderr


SCHEDULES = [
    ({"kind": "constant"}, lambda s: 1.0),
    ({"kind": "constant", "warmup_steps": 4}, lambda s: min(1.0, (s + 1) / 4)),
    ({"kind": "linear", "total_steps": 20}, lambda s: max(0.0, 1 - s / 20)),
    ({"kind": "linear", "total_steps": 20, "end_factor": 0.25, "warmup_steps": 10},
     lambda s: (s + 1) / 10 if s < 10 else 0.25 + 0.75 * max(0.0, 1 - (s - 10) / 10)),
    ({"kind": "cosine", "total_steps": 16}, lambda s: (1 + np.cos(np.pi * min(1.0, s / 16))) / 2),
    ({"kind": "step", "step_size": 5, "gamma": 0.5}, lambda s: 0.5 ** (s // 5)),
]


@pytest.mark.parametrize("schedule,factor", SCHEDULES, ids=[json.dumps(s) for s, _ in SCHEDULES])
def test_schedule_follows_applied_steps(tmp_path, code, data, schedule, factor):
    """The rate of a step is that of the number of applied steps before it: skipped ones do not count (field case 28c)."""
    form = manifest()
    form["source"]["config"]["schedule"] = schedule
    step = write_artifact(tmp_path / "step", code, form)
    run_ok("train", step, "--data", data[0], "--steps", 36, "--log", tmp_path / "log.jsonl")
    rows, applied = rows_of(tmp_path / "log.jsonl"), 0
    for row in rows:
        assert row["lr"] == pytest.approx(0.1 * factor(applied), rel=1e-6, abs=1e-9), row["step"]
        applied = row["applied"]
    run_ok("train", step, "--data", data[0], "--steps", 3, "--lr", 0.5, "--log", tmp_path / "log.jsonl")
    assert rows_of(tmp_path / "log.jsonl")[0]["lr"] == pytest.approx(0.5 * factor(0), rel=1e-6)


@pytest.mark.parametrize("schedule,complaint", [
    ({"kind": "magic"}, "there is no schedule 'magic'"), ({}, "key 'kind' is missing"), ({"kind": "step"}, "key 'step_size' is missing"),
    ({"kind": "linear", "total_steps": 0}, "from 1 to"), ({"kind": "linear", "total_steps": 5, "warmup_steps": 5}, "more than warmup_steps"),
    ({"kind": "constant", "gamma": 1}, "no key 'gamma'"), ({"kind": "step", "step_size": 1, "gamma": -1}, "not negative"), ("constant", "expected an object")])
def test_bad_schedule(tmp_path, code, data, schedule, complaint):
    form = manifest()
    form["source"]["config"]["schedule"] = schedule
    run = amp_run("train", write_artifact(tmp_path / "step", code, form), "--data", data[0])
    assert run.code == 1 and "schedule" in run.stderr and complaint in run.stderr


def test_lr_survives_resume(step, data, tmp_path):
    run_ok("train", step, "--data", data[0], "--steps", 4, "--lr", 0.5, "--save", tmp_path / "a.safetensors")
    run_ok("train", step, "--data", data[0], "--steps", 5, "--resume", tmp_path / "a.safetensors", "--log", tmp_path / "log.jsonl")
    assert rows_of(tmp_path / "log.jsonl")[0]["lr"] == 0.5


def test_resume_refuses_other_data(step, data, tmp_path):
    run_ok("train", step, "--data", data[0], "--steps", 4, "--save", tmp_path / "a.safetensors")
    np.savez(tmp_path / "other.npz", **make_data(80))
    common = ["train", step, "--resume", tmp_path / "a.safetensors", "--steps", 9, "--data"]
    for options, complaint in [((tmp_path / "other.npz",), "made with 96 rows"), ((data[0], "--seed", 5), "shuffles with seed 0"),
                               ((data[0], "--no-shuffle"), "but --no-shuffle was given")]:
        run = amp_run(*common, *options)
        assert run.code == 1 and complaint in run.stderr, run.describe()


def test_eval_and_infer(step, tmp_path):
    """Every row once: the last batch is filled up and its extra rows are cut off again."""
    arrays = make_data(21)
    np.savez(tmp_path / "d.npz", **arrays)
    twin = Twin()
    result = json.loads(run_ok("eval", step, "--data", tmp_path / "d.npz").stdout)
    assert result["rows"] == 16 and result["eval_loss"] == pytest.approx(twin.loss(arrays["x"][:16], arrays["y"][:16])[0], rel=1e-5)
    for name in ("y.npz", "y.safetensors"):
        np.savez(tmp_path / "x.npz", x=arrays["x"])
        run_ok("infer", step, "--data", tmp_path / "x.npz", "-o", tmp_path / name)
        found = dict(np.load(tmp_path / name)) if name == "y.npz" else read_safetensors(tmp_path / name)[0]
        np.testing.assert_allclose(found["logits"], twin.logits(arrays["x"]), rtol=1e-5, atol=1e-5)
    run = amp_run("infer", step, "--data", tmp_path / "x.npz", "-o", tmp_path / "y.txt")
    assert run.code == 1 and ".npz or .safetensors" in run.stderr and not (tmp_path / "y.txt").exists()


def test_info(step):
    text = run_ok("info", step).stdout
    assert "15 parameters" in text and "entry train_step(x, y) -> loss, found_inf, grad_norm, grad.w" in text and FINGERPRINT in text
    info = json.loads(run_ok("info", step, "--json").stdout)
    assert info["parameters"] == 15 and [e["name"] for e in info["entries"]] == ["train_step", "eval_step", "infer"]
    assert next(t for t in info["tensors"] if t["name"] == "momentum_buffer.w")["of"] == "w"


def test_curves_are_svg(step, data, tmp_path):
    import xml.etree.ElementTree as tree
    run_ok("train", step, "--data", data[0], "--epochs", 4, "--plot", tmp_path / "c.svg")
    root = tree.parse(tmp_path / "c.svg").getroot()
    paths = root.findall("{http://www.w3.org/2000/svg}path")
    assert root.tag.endswith("svg") and len(paths) == 2 and all(p.get("d").startswith("M") for p in paths)
    assert root.findall("{http://www.w3.org/2000/svg}line"), "no tick for the skipped steps"


def test_curves_are_a_page(step, data, tmp_path):
    """The picture, and the numbers that the page shows for the step under the mouse: every skipped one is among them."""
    run_ok("train", step, "--data", data[0], "--epochs", 4, "--plot", tmp_path / "c.html", "--log", tmp_path / "log.jsonl")
    text = (tmp_path / "c.html").read_text()
    assert text.count("<svg") == 1 and text.endswith("</html>\n")
    shown = json.loads(text.split("const rows = ")[1].split(";\n")[0])
    rows = {row["step"]: row for row in rows_of(tmp_path / "log.jsonl")}
    assert all([loss, scale, skipped] == [rows[n]["loss"], rows[n]["scale"], rows[n]["skipped"]] for n, loss, scale, skipped, _ in shown)
    assert {n for n, row in rows.items() if row["skipped"]} == {n for n, _, _, skipped, _ in shown if skipped} != set()


def test_data_that_shrinks(step, tmp_path):
    """A mapped file that somebody cuts off is an error that names it, not a crash."""
    np.savez(tmp_path / "d.npz", **make_data(96000))
    child = subprocess.Popen([AMP_RUN, "train", step, "--data", tmp_path / "d.npz", "--no-shuffle", "--epochs", "100000", "--log", tmp_path / "log.jsonl"],
                             stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "log.jsonl").exists() or not (tmp_path / "log.jsonl").stat().st_size:
        assert child.poll() is None
        time.sleep(0.01)
    with open(tmp_path / "d.npz", "r+b") as file:
        file.truncate(4096)
    error = child.communicate(timeout=60)[1]
    assert child.returncode == 1 and "d.npz' became shorter while it was read" in error


def test_warns_when_the_scale_collapses(tmp_path, code, data):
    """Data that is not finite: every step is skipped, and that is said once, with the floor."""
    form = manifest()
    form["scaler"]["min_scale"] = 16384.0
    step = write_artifact(tmp_path / "step", code, form)
    arrays = make_data(96)
    arrays["x"][:, 0] = np.inf
    np.savez(tmp_path / "bad.npz", **arrays)
    run = run_ok("train", step, "--data", tmp_path / "bad.npz", "--epochs", 2, "--log", tmp_path / "log.jsonl")
    assert run.stderr.count("is at its floor (16384.0)") == 1 and run.stderr.count("the loss scale collapses") == 1
    assert run.stderr.count("the loss is not finite") == 1 and "first gradient that is not finite is that of 'w'" in run.stderr
    rows = rows_of(tmp_path / "log.jsonl")
    assert all(row["skipped"] and row["loss"] is None for row in rows) and rows[-1]["applied"] == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_saves_and_stops(step, data, tmp_path, number):
    saved = tmp_path / "last.safetensors"
    common = [str(a) for a in (AMP_RUN, "train", step, "--data", data[0], "--save")]
    child = subprocess.Popen([*common, saved, "--steps", "100000000", "--log", tmp_path / "log.jsonl"], stderr=subprocess.PIPE, text=True)
    while child.poll() is None and not (tmp_path / "log.jsonl").exists():
        time.sleep(0.01)
    time.sleep(0.2)
    child.send_signal(number)
    _, text = child.communicate(timeout=20)
    assert child.returncode == 128 + number and "saved to" in text
    steps = int(read_safetensors(saved)[0]["train.steps"])
    rows = (tmp_path / "log.jsonl").read_text().splitlines()
    assert steps > 0 and json.loads(rows[-1])["step"] == steps == len(rows)
    # The same number of steps at one go gives the same file.
    run_ok(*common[1:], tmp_path / "again.safetensors", "--steps", steps)
    assert saved.read_bytes() == (tmp_path / "again.safetensors").read_bytes()


def test_kill_at_any_time_leaves_a_good_checkpoint(step, data, tmp_path):
    """kill -9 in a loop that does nothing but save: the file is always whole, nothing else is left."""
    saved = tmp_path / "out" / "last.safetensors"
    saved.parent.mkdir()
    command = [str(a) for a in (AMP_RUN, "train", step, "--data", data[0], "--steps", 100000000, "--save", saved, "--save-every", 1, "--quiet", "--log", tmp_path / "log.jsonl")]
    rng, last, resumed = np.random.default_rng(1), 0, []
    for _ in range(25):
        child = subprocess.Popen(command + resumed)
        time.sleep(0.02 + 0.05 * rng.random())
        child.kill()
        child.wait()
        if saved.exists():
            steps = int(read_safetensors(saved)[0]["train.steps"])
            assert steps >= last
            last, resumed = steps, ["--resume", str(saved)]
        # A kill between naming the new file and renaming it leaves that name; it is no checkpoint's.
        assert all(p == saved or p.name.startswith(".last.safetensors.") for p in saved.parent.iterdir())
    run_ok(*command[1:5], "--steps", last, "--resume", saved, "--log", tmp_path / "log.jsonl")
    assert last > 0 and [row["step"] for row in rows_of(tmp_path / "log.jsonl")] == list(range(1, last + 1))


@pytest.mark.parametrize("name", ["last.safetensors", "last.npz"])
def test_full_disk(step, data, tmp_path, name):
    """A file-size limit stands for a full disk: an error, and the file from before is as it was."""
    saved = tmp_path / "out" / name
    saved.parent.mkdir()
    run_ok("train", step, "--data", data[0], "--steps", 2, "--save", saved)
    before = saved.read_bytes()
    shell = f"ulimit -f 1; exec {AMP_RUN} train {step} --data {data[0]} --steps 5 --save {saved}"
    child = subprocess.run(["bash", "-c", shell], stderr=subprocess.PIPE, text=True)
    assert child.returncode == 1 and "cannot write" in child.stderr and "File too large" in child.stderr
    assert saved.read_bytes() == before and [p.name for p in saved.parent.iterdir()] == [name]


def test_unwritable_outputs(step, data, tmp_path):
    common = ["train", step, "--data", data[0], "--steps", 1]
    for option in ("--save", "--log", "--plot"):
        run = amp_run(*common, option, tmp_path / "absent" / "file.svg")
        assert run.code == 1 and "cannot write" in run.stderr and "No such file" in run.stderr, run.describe()
        assert "loss" not in run.stderr, "it is found out only after training"
    (tmp_path / "link.safetensors").symlink_to(tmp_path / "real.safetensors")
    (tmp_path / "real.safetensors").write_bytes(b"old")
    run_ok(*common, "--save", tmp_path / "link.safetensors")
    assert (tmp_path / "link.safetensors").is_symlink() and read_safetensors(tmp_path / "real.safetensors")


@pytest.mark.parametrize("arguments,complaint", [
    ([], "no command"), (["fly", "step"], "no command 'fly'"), (["train"], "needs an artifact"), (["train", "step"], "needs --data"),
    (["train", "step", "--data"], "needs a value"), (["train", "step", "--data", "d", "--epochs", "1", "--steps", "1"], "exclude each other"),
    (["train", "step", "--data", "d", "--epochs", "x"], "whole number"), (["train", "step", "--data", "d", "--steps", "-1"], "at least 0"),
    (["train", "step", "--data", "d", "--save-every", "5"], "--save FILE"), (["train", "step", "--data", "d", "--lr", "nan"], "--lr"),
    (["train", "step", "--data", "d", "--no-shuffle=1"], "takes no value"), (["train", "step", "--data", "d", "--frob"], "no option '--frob'"),
    (["eval", "step", "--data", "d", "--epochs", "1"], "no option '--epochs'"), (["infer", "step", "--data", "d"], "needs -o"),
    (["train", "step", "more", "--data", "d"], "what is 'more'"), (["train", "step", "--data", "d", "--last-batch", "keep"], "drop or wrap"),
    (["train", "absent", "--data", "d"], "No such file"), (["save", "step", "-o", "f", "--layout", "x"], "torch or native")])
def test_bad_command_lines(arguments, complaint):
    run = amp_run(*arguments)
    assert run.code == 1 and not run.signal and complaint in run.stderr, run.describe()


def test_help():
    run = run_ok("--help")
    assert run.stdout.startswith("usage: amp-run") and "--save-every" in run.stdout
    assert run_ok("--version").stdout.startswith("amp-run 0.")
