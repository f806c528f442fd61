"""Conversion between opsets, judged by numbers: a model and what it became must compute the same in ONNX Runtime.

The converted models come from amp-convert-opset, which sends every node of a model through the table of steps.
"""
import subprocess
import zlib

import numpy as np
import onnx
import pytest

import corpus
import engines
import feeds
from harness import FULL, amp_opt_path
from small import model

TOOL = amp_opt_path().parent / "amp-convert-opset"
#: Opsets that models of the suite are converted to; ONNX Runtime runs 7 and up.
TARGETS = (7, 9, 11, 13, 17, 20, 26)
#: Numbers may move where an op comes back as several; all of it is f32 arithmetic on small inputs.
RELATIVE, ABSOLUTE = 1e-4, 1e-5

needs_tool = pytest.mark.skipif(not TOOL.is_file(), reason=f"{TOOL} is absent: build the target amp-convert-opset")


def convert(jobs):
    """[(source, target, opset)] -> {target: refusals}; one process for many, as starting it costs more than converting."""
    refusals = {}
    for start in range(0, len(jobs), 100):
        arguments = [str(part) for job in jobs[start:start + 100] for part in job]
        done = subprocess.run([str(TOOL), *arguments], capture_output=True, text=True, timeout=300)
        assert done.returncode in (0, 3), f"exit code {done.returncode}: {done.stderr[-2000:]}"
        lines = []
        for line in done.stdout.splitlines():
            if line.startswith("refused: "):
                lines.append(line.removeprefix("refused: "))
            else:
                refusals[line.split(" ", 1)[1]], lines = lines, []
    return refusals


def difference(expected, got):
    """What is not the same in two runs, or None."""
    relative, absolute, problem = engines.error_of(expected, got)
    if problem:
        return problem
    return None if relative <= RELATIVE or absolute <= ABSOLUTE else f"numbers differ by {absolute:.3g} ({relative:.3g} relative)"


#: name -> (opset, graph, initializers): what the steps up rewrite, in versions that ONNX Runtime still runs.
OLD = {
    "softmax-inner": (11, "g (float[2,3,4] X) => (float[2,3,4] Y) { Y = Softmax<axis = 1>(X) }", {}),
    "softmax-first": (9, "g (float[2,3,4] X) => (float[2,3,4] Y) { Y = Softmax<axis = 0>(X) }", {}),
    "softmax-dynamic": (9, "g (float[N,C,1] X) => (float[N,C,1] Y) { Y = Softmax(X) }", {}),
    "logsoftmax-ones": (9, "g (float[2,5,1,1] X) => (float[2,5,1,1] Y) { Y = LogSoftmax(X) }", {}),
    "hardmax": (12, "g (float[2,3,4] X) => (float[2,3,4] Y) { Y = Hardmax<axis = 1>(X) }", {}),
    "upsample-attribute": (7, 'g (float[1,2,3,4] X) => (float[A,B,C,D] Y) { Y = Upsample<scales = [1.0, 1.0, 2.0, 3.0]>(X) }', {}),
    "upsample-linear": (9, 'g (float[1,2,3,4] X) => (float[A,B,C,D] Y) { Y = Upsample<mode = "linear">(X, S) }',
                        {"S": [1.0, 1.0, 1.5, 2.5]}),
    "upsample-fraction": (9, "g (float[1,2,3,5] X) => (float[A,B,C,D] Y) { Y = Upsample(X, S) }", {"S": [1.0, 1.0, 1.6, 2.4]}),
    "resize-down": (10, "g (float[1,1,7,9] X) => (float[A,B,C,D] Y) { Y = Resize(X, S) }", {"S": [1.0, 1.0, 0.6, 0.4]}),
    "resize-up": (10, "g (float[1,1,4,5] X) => (float[A,B,C,D] Y) { Y = Resize(X, S) }", {"S": [1.0, 1.0, 1.7, 2.3]}),
    "resize-linear": (10, 'g (float[1,1,7,9] X) => (float[A,B,C,D] Y) { Y = Resize<mode = "linear">(X, S) }',
                      {"S": [1.0, 1.0, 0.6, 1.4]}),
    "resize-tf": (11, "g (float[1,1,4,5] X) => (float[A,B,C,D] Y) { Y = Resize<coordinate_transformation_mode = "
                  '"tf_half_pixel_for_nn", nearest_mode = "floor">(X, R, S) }',
                  {"R": np.zeros(0, np.float32), "S": [1.0, 1.0, 1.7, 2.3]}),
    "resize-sizes": (11, "g (float[1,1,4,5] X) => (float[A,B,C,D] Y) { Y = Resize(X, N, N, S) }",
                     {"N": np.zeros(0, np.float32), "S": np.array([1, 1, 8, 7])}),
    "clip": (7, "g (float[2,5] X) => (float[2,5] Y) { Y = Clip<min = -0.25, max = 0.5>(X) }", {}),
    "clip-half": (9, "g (float16[2,5] X) => (float16[2,5] Y) { Y = Clip<max = 0.3>(X) }", {}),
    "slice": (9, "g (float[4,5] X) => (float[A,B] Y) { Y = Slice<axes = [1], starts = [1], ends = [-1]>(X) }", {}),
    "topk": (9, "g (float[3,7] X) => (float[3,2] V, int64[3,2] I) { V, I = TopK<k = 2>(X) }", {}),
    "split-equal": (9, "g (float[6,2] X) => (float[A,B] Y, float[C,D] Z) { Y, Z = Split(X) }", {}),
    "split-sizes": (11, "g (float[6,2] X) => (float[A,B] Y, float[C,D] Z) { Y, Z = Split<split = [2, 4]>(X) }", {}),
    "pad": (7, "g (float[2,3] X) => (float[A,B] Y) { Y = Pad<pads = [0, 1, 2, 0], value = 7.0>(X) }", {}),
    "pad-reflect": (9, 'g (float[4,3] X) => (float[A,B] Y) { Y = Pad<pads = [1, 1, 2, 0], mode = "reflect">(X) }', {}),
    "dropout": (7, "g (float[2,3] X) => (float[2,3] Y) { Y = Dropout<ratio = 0.9>(X) }", {}),
    "batchnorm": (7, "g (float[2,3,4] X) => (float[2,3,4] Y) { Y = BatchNormalization<spatial = 1>(X, S, B, M, V) }",
                  {"S": [1.0, 2.0, 0.5], "B": [0.0, 1.0, 2.0], "M": [0.1, 0.2, 0.3], "V": [1.0, 2.0, 3.0]}),
    "reduce": (7, "g (float[2,3,4] X) => (float[A,B] Y, float[C,D,E] Z) { Y = ReduceSum<axes = [1], keepdims = 0>(X) "
               "Z = ReduceLogSumExp<axes = [0, 2]>(X) }", {}),
    "reduce-all": (11, "g (float[2,3,4] X) => (float[A,B,C] Y) { Y = ReduceMean(X) }", {}),
    "squeeze": (9, "g (float[2,1,4] X) => (float[A,B,C,D] Y) { T = Squeeze<axes = [1]>(X) Y = Unsqueeze<axes = [0, 3]>(T) }", {}),
    "scatter": (9, "g (float[3,3] X, float[2,3] U) => (float[3,3] Y) { Y = Scatter<axis = 0>(X, I, U) }",
                {"I": np.array([[1, 0, 2], [0, 2, 1]])}),
    "roialign": (10, "g (float[1,2,6,6] X) => (float[A,B,C,D] Y) { Y = RoiAlign<output_height = 3, output_width = 3>(X, R, I) }",
                 {"R": [[0.0, 0.0, 4.0, 4.0]], "I": np.array([0])}),
    "gridsample": (16, 'g (float[1,2,4,5] X, float[1,3,3,2] G) => (float[1,2,3,3] Y) { Y = GridSample<mode = "bicubic">(X, G) }', {}),
    "lstm": (7, "g (float[3,2,4] X) => (float[A,B,C,D] Y) { Y = LSTM<hidden_size = 2>(X, W, R) }",
             {"W": np.linspace(-1, 1, 32, dtype=np.float32).reshape(1, 8, 4),
              "R": np.linspace(1, -1, 16, dtype=np.float32).reshape(1, 8, 2)}),
    "gemm": (7, "g (float[2,3] X) => (float[2,4] Y) { Y = Gemm<beta = 0.5>(X, W, C) }",
             {"W": np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4), "C": [1.0, 2.0, 3.0, 4.0]}),
    "avgpool": (7, "g (float[1,2,6,6] X) => (float[A,B,C,D] Y) { Y = AveragePool<kernel_shape = [3, 3], pads = [1, 1, 1, 1], "
                "count_include_pad = 1>(X) }", {}),
    "dft": (17, "g (float[1,6,3,1] X) => (float[A,B,C,D] Y) { Y = DFT(X) }", {}),
}
#: name -> (opset, graph, initializers, lowest): what the steps down rewrite; `lowest` is an opset that must take it.
NEW = {
    "softmax": (13, "g (float[2,3,4] X) => (float[2,3,4] Y) { Y = Softmax<axis = 1>(X) }", {}, 7),
    "hardmax-last": (13, "g (float[2,3,4] X) => (float[2,3,4] Y) { Y = Hardmax(X) }", {}, 7),
    "groupnorm": (21, "g (float[2,6,5] X) => (float[2,6,5] Y) { Y = GroupNormalization<num_groups = 2>(X, S, B) }",
                  {"S": np.linspace(1, 2, 6, dtype=np.float32), "B": np.linspace(-1, 1, 6, dtype=np.float32)}, 21),
    "shape": (15, "g (float[2,3,4] X) => (int64[A] Y) { Y = Shape<start = 1, end = -1>(X) }", {}, 7),
    "split-uneven": (18, "g (float[5,2] X) => (float[A,B] Y, float[C,D] Z) { Y, Z = Split<num_outputs = 2>(X) }", {}, 7),
    "pad-axes": (18, "g (float[2,3] X) => (float[A,B] Y) { Y = Pad(X, P, V, A) }",
                 {"P": np.array([1, 2]), "V": np.float32(3), "A": np.array([-1])}, 7),
    "resize-axes": (18, 'g (float[1,2,3,4] X) => (float[A,B,C,D] Y) { Y = Resize<axes = [2, 3], mode = "linear">(X, "", S) }',
                    {"S": [2.0, 1.5]}, 11),
    "resize-upsample": (13, "g (float[1,2,3,4] X) => (float[A,B,C,D] Y) { Y = Resize<coordinate_transformation_mode = "
                        '"asymmetric", nearest_mode = "floor">(X, "", S) }', {"S": [1.0, 1.0, 2.0, 1.5]}, 7),
    "clip": (13, "g (float[2,5] X) => (float[2,5] Y) { Y = Clip(X, L, H) }", {"L": np.float32(-0.25), "H": np.float32(0.5)}, 7),
    "slice-step": (13, "g (float[4,6] X) => (float[A,B] Y) { Y = Slice(X, S, E, A, T) }",
                   {"S": np.array([0]), "E": np.array([5]), "A": np.array([-1]), "T": np.array([2])}, 10),
    "reduce": (18, "g (float[2,3,4] X) => (float[A,B,C] Y) { Y = ReduceMax(X, A) }", {"A": np.array([-1, 0])}, 7),
    "constant": (13, "g (float[2] X) => (float[2] Y) { C = Constant<value_floats = [1.0, 2.0]>() Y = Add(X, C) }", {}, 7),
    "gemm": (11, "g (float[2,3] X) => (float[2,4] Y) { Y = Gemm(X, W) }",
             {"W": np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)}, 7),
    "scatter": (16, "g (float[3,3] X, float[2,3] U) => (float[3,3] Y) { Y = ScatterElements<axis = -2>(X, I, U) }",
                {"I": np.array([[1, 0, 2], [0, 2, 1]])}, 9),
    "dropout-mask": (13, "g (float[2,3] X) => (float[2,3] Y, bool[2,3] M) { Y, M = Dropout(X) }", {}, 9),
}


def _run(proto, name):
    """(feeds, outputs) of a model on random inputs."""
    values = feeds.random_feeds(proto, name, zlib.crc32(name.encode()))
    return values, engines.run_ort(proto, values)


def _check(name, source, target, values, expected):
    problem = difference(expected, engines.run_ort(target, values))
    assert not problem, f"{name}, from opset {source}: {problem}"


@needs_tool
@pytest.mark.parametrize("name", OLD)
def test_old_models_mean_the_same_at_26_and_back(name, tmp_path):
    opset, graph, inits = OLD[name]
    proto = model(graph, inits, opset)
    source, raised, back = (tmp_path / f"{part}.onnx" for part in ("source", "raised", "back"))
    onnx.save(proto, source)
    assert not any(convert([(source, raised, 26), (raised, back, opset)]).values())
    if name == "roialign":  # ONNX Runtime has no kernel of version 22
        assert convert([(source, raised, 21)]) == {str(raised): []}
    values, expected = _run(proto, name)
    _check(name, opset, raised, values, expected)
    _check(name, opset, back, values, expected)


@needs_tool
@pytest.mark.parametrize("name", NEW)
def test_new_models_mean_the_same_in_older_opsets(name, tmp_path):
    opset, graph, inits, lowest = NEW[name]
    proto = model(graph, inits, opset, ir=10)
    source = tmp_path / "source.onnx"
    onnx.save(proto, source)
    targets = {version: tmp_path / f"{version}.onnx" for version in {lowest, *(t for t in TARGETS if t >= lowest)}}
    refusals = convert([(source, path, version) for version, path in targets.items()])
    assert not any(refusals.values()), refusals
    values, expected = _run(proto, name)
    for version, path in targets.items():
        _check(f"{name} at {version}", opset, path, values, expected)


@needs_tool
def test_the_suite_means_the_same_in_every_opset_that_takes_it(tmp_path, record):
    cases = [case for case in corpus.onnx_suite() if case.folder and "dropout" not in case.name]
    cases = cases if FULL else corpus.sample(cases, 8)
    jobs = [(case.path, tmp_path / f"{i}-{version}.onnx", version) for i, case in enumerate(cases) for version in TARGETS]
    refusals = convert(jobs)
    wrong, compared = [], 0
    for i, case in enumerate(cases):
        proto = onnx.load(case.path)
        if engines.is_random(proto):
            continue
        try:
            values = feeds.from_folder(proto, case.folder)
            expected = engines.run_ort(proto, values)
        except engines.CannotRun:
            continue
        for version in TARGETS:
            path = tmp_path / f"{i}-{version}.onnx"
            if refusals[str(path)]:
                continue
            try:
                got = engines.run_ort(path, values)
            except engines.CannotRun:
                continue
            compared += 1
            if problem := difference(expected, got):
                wrong.append(f"{case.name} at {version}: {problem}")
            record("opsets", f"models of the suite compared at opset {version}")
    assert compared > 300
    assert not wrong
