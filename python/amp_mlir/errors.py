"""The exceptions of the package."""


class Error(RuntimeError):
    """What amp_mlir raises: CompileError for graphs, passes and compilations, StepError for artifacts and calls of a step."""
