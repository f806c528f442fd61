# lit configuration: .mlir and .test files run amp-opt and FileCheck.
import os
import lit.formats

config.name = "amp-mlir"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.test_source_root = os.path.dirname(__file__)
config.excludes = ["python", "unit", "fuzz", "Inputs"]
root = os.path.dirname(config.test_source_root)
build = lit_config.params.get("build", os.path.join(root, "build"))
config.test_exec_root = os.path.join(build, "test", "lit")
llvm = lit_config.params.get("llvm", "/usr/lib/llvm-22/bin")
config.environment["PATH"] = os.pathsep.join([os.path.join(build, "bin"), llvm, os.environ["PATH"]])
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
python = os.path.join(root, ".venv", "bin", "python")
config.substitutions.append(("%python", python if os.path.exists(python) else "python3"))
config.substitutions.append(("%root", root))
