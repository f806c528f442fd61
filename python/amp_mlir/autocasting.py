"""What the model is computed in."""
from dataclasses import dataclass, field

from .dtypes import half_name
from .errors import Error

_DEVICES = {"cuda": ("f16", "torch-cuda"), "cpu": ("bf16", "torch-cpu")}


@dataclass
class autocast:  # noqa: N801 (PyTorch's spelling)
    """Mixed precision for a whole model, with the arguments of torch.autocast.

    device_type: "cuda" or "cpu": whose autocast lists are followed. They decide the types alone: the step runs where `target` says.
    dtype: torch.float16, torch.bfloat16, "f16" or "bf16"; None is the device's default (float16 for cuda, bfloat16 for cpu).
    enabled: False is float32.
    policy: a policy's name or path instead of "torch-cuda" or "torch-cpu" ("balanced" is fastest).
    allow, deny: ONNX operators that run narrow or in float32 whatever the policy says. pin: {regular expression of node
    names: "f32", "f16" or "bf16"}.

    Raises Error for other devices and types.
    """

    device_type: str = "cuda"
    dtype: object = None
    enabled: bool = True
    policy: str | None = None
    allow: list = field(default_factory=list)
    deny: list = field(default_factory=list)
    pin: dict = field(default_factory=dict)

    def __post_init__(self):
        if self.device_type not in _DEVICES:
            raise Error(f"autocast: the device_type is 'cuda' or 'cpu', but got {self.device_type!r}")
        dtype, policy = _DEVICES[self.device_type]
        self.dtype = half_name(self.dtype, "autocast: the dtype") if self.dtype is not None else dtype
        self.policy = self.policy or policy

    def pins(self):
        return [f"{pattern}={dtype}" for pattern, dtype in self.pin.items()]

    def config(self):
        """The object `autocast` of train.json."""
        config = {"dtype": self.dtype, "policy": self.policy, "allow": list(self.allow), "deny": list(self.deny), "pin": self.pins()}
        return {key: value for key, value in config.items() if value}
