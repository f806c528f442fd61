"""Verdicts on a converted model, made inside a worker process: structure, then numbers in an engine that can run it."""
import os
from pathlib import Path

import onnx

import canonical
import engines
import feeds as feeding
import structure
import widen
from workers import stage

#: Largest error allowed: of the largest magnitude of the outputs, or absolute for outputs near zero.
TOLERANCE = {"f16": (1e-2, 1e-3), "bf16": (8e-2, 8e-3)}


def load(path):
    return onnx.load(str(path), load_external_data=True)


def default_opset(model):
    return next((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), 0)


def _reference_run(model, source, name, folder):
    """(engine, feeds, outputs) of the first feeds that run, else (None, None, reason)."""
    reason = "no inputs could be made"
    try:
        tried = list(feeding.candidates(model, name, folder))
    except Exception as error:
        return None, None, f"no inputs could be made: {error}"
    for engine in ("ort", "reference"):
        for values in tried:
            try:
                run = engines.run_ort(source, values) if engine == "ort" else engines.run_reference(model, values)
                return engine, values, run
            except engines.CannotLoad as error:
                reason = str(error)
                break
            except engines.CannotRun as error:
                reason = str(error)
    return None, None, reason


def _again(engine, source, model, values):
    return engines.run_ort(source, values) if engine == "ort" else engines.run_reference(model, values)


def examine(path):
    """What the checker says of a model, or None: tells whether refusing it is right."""
    try:
        return structure.full_check(load(path))
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:200]}"


def round_trip(original, converted, name="", folder=None, levels=("off", "all"), said=""):
    """Verdict on import and export without a pass: structure, identity of nodes, equal bits where an engine runs it."""
    before, after = load(original), load(converted)
    stage("checking the structure")
    known = set(structure.check_all(before, before, must_pass=False))
    problems = [p for p in structure.check_all(before, after, must_pass=structure.full_check(before) is None, said=said) if p not in known]
    where = canonical.difference(canonical.model_form(before, str(Path(original).parent)), canonical.model_form(after, str(Path(converted).parent)))
    if where and default_opset(before) in (0, 26):
        problems.append(f"not identical: {where}")
    engine, values, wanted = _reference_run(before, original, name, folder)
    verdict = {"problems": problems, "how": engine or "structure", "why": "" if engine else wanted, "identical": where is None, "difference": where}
    if not engine:
        return verdict
    if engines.is_random(before) and engines.first_difference(wanted, _again(engine, original, before, values)):
        return {**verdict, "how": "structure", "why": "draws random numbers"}
    try:
        for level in levels if engine == "ort" else ("reference",):
            if engine == "ort":
                want = engines.run_ort(original, values, level)
                have = engines.run_ort(converted, values, level)
            else:
                want, have = wanted, engines.run_reference(after, values)
            if found := engines.first_difference(want, have):
                problems.append(f"result differs ({engine}, {level}): {found}")
    except engines.CannotRun as error:
        problems.append(f"the original runs in {engine}, but the result does not: {error}")
    return verdict


def _run_narrow(converted, model, values, dtype, levels):
    """[(label, outputs)] of every way to run the converted model, and how it was judged."""
    if dtype == "bf16" and widen.has_bf16(model):
        wide = widen.widen(model)
        try:
            return [("widened copy", engines.run_ort(wide, values))], "widened"
        except engines.CannotRun as error:
            try:
                return [("reference", engines.run_reference(model, values))], "reference"
            except engines.CannotRun as second:
                raise engines.CannotRun(f"{error}; {second}") from None
    try:
        return [(f"ort {level}", engines.run_ort(converted, values, level)) for level in levels], "ort"
    except engines.CannotRun as error:
        try:
            return [("reference", engines.run_reference(model, values))], f"reference ({error})"
        except engines.CannotRun as second:
            raise engines.CannotRun(f"{error}; {second}") from None


def autocast(original, converted, name="", folder=None, dtype="f16", levels=("off", "all"), tolerance=None, said=""):
    """Verdict on an autocast model: structure, engine loads and runs it, error within the tolerance of the float32 run."""
    before, after = load(original), load(converted)
    stage("checking the structure")
    problems = structure.check_all(before, after, must_pass=structure.full_check(before) is None, said=said)
    verdict = {"problems": problems, "how": "structure", "why": "", "error": None, **structure.statistics(after),
               "source": structure.statistics(before)}
    engine, values, wanted = _reference_run(before, original, name, folder)
    if not engine:
        return {**verdict, "why": wanted}
    if engines.is_random(before) and engines.first_difference(wanted, _again(engine, original, before, values)):
        return {**verdict, "why": "draws random numbers"}
    relative_limit, absolute_limit = tolerance or TOLERANCE[dtype]
    try:
        if engine == "reference":
            runs, how = [("reference", engines.run_reference(after, values))], "reference"
        else:
            runs, how = _run_narrow(converted, after, values, dtype, levels)
    except engines.CannotRun as error:
        problems.append(f"the original runs in {engine}, but the result does not: {error}")
        return verdict
    worst = 0.0
    for label, have in runs:
        relative, absolute, found = engines.error_of(wanted, have)
        worst = max(worst, relative)
        if found:
            problems.append(f"{label}: {found}")
        elif relative > relative_limit and absolute > absolute_limit:
            problems.append(f"{label}: error {relative:.2e} of the largest output ({absolute:.2e} absolute) is over {relative_limit:g}")
    return {**verdict, "how": how, "error": worst}


def same_model(left, right):
    """Where two files differ as models, or None."""
    return canonical.difference(canonical.model_form(load(left), str(Path(left).parent)), canonical.model_form(load(right), str(Path(right).parent)))


def file_size(path):
    return os.path.getsize(path)


def in_half(original, converted, name=""):
    """(largest error relative to the float32 run, problem) of a converted model run by the reference evaluator, whose half operators
    round for real, or (None, why it does not run)."""
    before, after = load(original), load(converted)
    engine, values, wanted = _reference_run(before, original, name, None)
    if not engine:
        return None, wanted
    try:
        relative, _, problem = engines.error_of(wanted, engines.run_reference(after, values))
    except engines.CannotRun as error:
        return None, str(error)
    return relative, problem
