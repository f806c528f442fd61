"""Loss scaling: what a step is compiled with, and the state of one that runs."""
from dataclasses import dataclass

from .errors import Error

# What PyTorch's state_dict has beside the scale and the tracker.
_FIXED = ("growth_factor", "backoff_factor", "growth_interval")


@dataclass
class GradScaler:
    """Dynamic loss scaling, with the arguments and defaults of torch.amp.GradScaler, and three more.

    device is ignored. enabled=False is no scaling. hysteresis: so many overflows before the scale backs off. min_scale,
    max_scale: bounds.
    """

    device: str = "cuda"
    init_scale: float = 2.0 ** 16
    growth_factor: float = 2.0
    backoff_factor: float = 0.5
    growth_interval: int = 2000
    enabled: bool = True
    hysteresis: int = 1
    min_scale: float | None = None
    max_scale: float | None = None

    @classmethod
    def of(cls, scaler):
        """This, or a torch.amp.GradScaler with its present scale."""
        if isinstance(scaler, cls):
            return scaler
        if not hasattr(scaler, "get_growth_factor"):
            raise Error(f"scaler is an amp.GradScaler or a torch.amp.GradScaler, but got {type(scaler).__name__}")
        state = scaler.state_dict()
        if not state:
            return cls(enabled=False)
        return cls(init_scale=state["scale"], **{key: state[key] for key in _FIXED})

    def config(self):
        """The object `loss_scale` of train.json."""
        if not self.enabled:
            return {"enabled": False}
        config = {"enabled": True, "init_scale": self.init_scale, "hysteresis": self.hysteresis, "min_scale": self.min_scale,
                  "max_scale": self.max_scale} | {key: getattr(self, key) for key in _FIXED}
        return {key: value for key, value in config.items() if value is not None}


class StepScaler:
    """The loss scaler of a step: PyTorch's methods over the step's own state."""

    def __init__(self, state, facts):
        self._state, self._facts = state, facts

    def is_enabled(self):
        return bool(self._facts.get("enabled"))

    def get_scale(self):
        """The scale of the next call; 1.0 without scaling."""
        return float(self._state.read("scaler.scale")) if self.is_enabled() else 1.0

    def state_dict(self):
        """PyTorch's five keys; an empty dict without scaling, as PyTorch has it."""
        if not self.is_enabled():
            return {}
        return {"scale": self.get_scale()} | {key: self._facts[key] for key in _FIXED} | {
            "_growth_tracker": int(self._state.read("scaler.growth_tracker"))}

    def load_state_dict(self, state):
        """Takes PyTorch's five keys. Factors and interval are compiled in: Error if they differ."""
        if not self.is_enabled():
            if state:
                raise Error("the step was compiled without loss scaling: compile it with scaler=amp.GradScaler()")
            return
        missing = [key for key in ("scale", "_growth_tracker") if key not in state]
        if missing:
            raise Error(f"the scaler's state_dict lacks {', '.join(missing)}")
        for key in _FIXED:
            if key in state and state[key] != self._facts[key]:
                raise Error(f"{key} is {state[key]} in the state_dict, but {self._facts[key]} in the compiled step: compile it with "
                            f"amp.GradScaler({key}={state[key]})")
        self._state.write("scaler.scale", state["scale"])
        self._state.write("scaler.growth_tracker", state["_growth_tracker"])
