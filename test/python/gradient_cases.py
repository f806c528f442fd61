"""The cases of test_gradients.py: one operator each, in all attribute forms its gradient rule names."""
import numpy as np

from gradient_batch import Case, rng_of

INF, NAN = np.inf, np.nan


def normal(name, *shape):
    return np.asarray(rng_of(name, shape).standard_normal(shape))


def positive(name, *shape):
    return np.asarray(rng_of(name, shape).uniform(0.3, 2.5, shape))


def away(name, *shape, points=(0.0,)):
    """Random numbers that keep 0.05 away from `points`, where a function has a kink."""
    values = normal(name, *shape) * 1.5
    for point in points:
        near = np.abs(values - point) < 0.05
        values = np.where(near, point + 0.1, values)
    return np.asarray(values)


def ints(*values):
    return np.array(values, np.int64)


def torch_function(path):
    """torch.<path>, looked up when called."""
    def call(*operands):
        import torch
        function = torch
        for part in path.split("."):
            function = getattr(function, part)
        return function(*operands)
    return call


# Operands that broadcast each other, both ways; ones and rank 0.
BROADCASTS = [((2, 3), (2, 3)), ((2, 3), (3,)), ((3,), (2, 3)), ((2, 1, 3), (4, 1)), ((), (2, 3)), ((2, 3), ()), ((1,), (1, 1)), ((1, 3), (2, 1)), ((), ())]


def shape_name(*shapes):
    return "_".join("x".join(map(str, shape)) or "scalar" for shape in shapes)


def unary():
    kinks = {"Abs": (0,), "Sign": (0,)}
    draws = {"Sqrt": positive, "Log": positive, "Reciprocal": positive, "Acosh": lambda *a: positive(*a) + 1,
             "Asin": lambda *a: np.tanh(normal(*a)), "Acos": lambda *a: np.tanh(normal(*a)), "Atanh": lambda *a: np.tanh(normal(*a))}
    torch_names = {"Erf": "erf", "Reciprocal": "reciprocal", "Softplus": "nn.functional.softplus", "Softsign": "nn.functional.softsign"}
    for op in ("Abs Neg Reciprocal Sqrt Exp Log Erf Sin Cos Tan Asin Acos Atan Sinh Cosh Tanh Asinh Acosh Atanh Sigmoid Softplus Softsign").split():
        draw = draws.get(op, lambda *a, op=op: away(*a, points=kinks.get(op, ())))
        for shape in ((2, 3), (), (1,)):
            if op == "Softsign" and not shape:
                continue  # the reference implementation fails
            yield Case(f"{op}_{shape_name(shape)}", op, [draw(op, *shape)], torch=torch_function(torch_names.get(op, op.lower())))


def activations():
    def functional(name, **options):
        def call(*operands):
            import torch
            return getattr(torch.nn.functional, name)(*operands, **options)
        return call

    def simple(op, torch=None, points=(0.0,), name=None, **attributes):
        return Case(name or op, op, [away(name or op, 4, 5, points=points)], attributes, torch=torch)

    yield simple("Relu", functional("relu"))
    yield simple("LeakyRelu", functional("leaky_relu", negative_slope=0.25), alpha=0.25)
    yield simple("LeakyRelu", functional("leaky_relu", negative_slope=-0.5), name="LeakyRelu_negative", alpha=-0.5)
    yield simple("ThresholdedRelu", functional("threshold", threshold=0.75, value=0.0), points=(0.75,), alpha=0.75)
    yield simple("Shrink", functional("hardshrink", lambd=0.5), points=(-0.5, 0.5))
    yield simple("Shrink", functional("softshrink", lambd=0.5), points=(-0.5, 0.5), name="Shrink_soft", bias=0.5)
    yield simple("HardSigmoid", points=(-2.5, 2.5))
    yield simple("HardSigmoid", points=(-2, 0), name="HardSigmoid_forms", alpha=0.5, beta=1.0)
    yield simple("HardSwish", functional("hardswish"), points=(-3, 3))
    yield simple("Elu", functional("elu", alpha=0.75), alpha=0.75)
    yield simple("Elu", functional("elu"), name="Elu_default")
    yield simple("Selu", functional("selu"))
    yield simple("Selu", name="Selu_forms", alpha=1.5, gamma=0.75)
    yield simple("Gelu", functional("gelu"), points=())
    yield simple("Gelu", functional("gelu", approximate="tanh"), points=(), name="Gelu_tanh", approximate="tanh")
    yield simple("Swish", functional("silu"), points=())
    yield simple("Swish", lambda x: x * (1.75 * x).sigmoid(), points=(), name="Swish_alpha", alpha=1.75)
    yield simple("Mish", functional("mish"), points=())
    for alpha in (1.0, 0.5):  # ONNX has it in float32 only
        yield Case(f"Celu_{alpha}", "Celu", [away("Celu", 4, 5).astype(np.float32)], {"alpha": alpha}, smooth=False, torch=functional("celu", alpha=alpha))
    for slope in ((4, 5), (5,), (4, 1), (1,), ()):
        yield Case(f"PRelu_{shape_name(slope)}", "PRelu", [away("PRelu", 4, 5), normal("slope", *slope)],
                   torch=lambda x, s: __import__("torch").where(x > 0, x, s * x))
    yield Case("Clip_both", "Clip", [away("Clip", 4, 5, points=(-0.5, 0.75)), np.array(-0.5), np.array(0.75)], torch=torch_function("clamp"))
    yield Case("Clip_low", "Clip", [away("Clip", 4, 5, points=(-0.5,)), np.array(-0.5)], torch=torch_function("clamp_min"))
    yield Case("Clip_high", "Clip", [away("Clip", 4, 5, points=(0.75,)), None, np.array(0.75)], torch=torch_function("clamp_max"))
    yield Case("Clip_none", "Clip", [normal("Clip", 4, 5)])
    yield Case("Clip_crossed", "Clip", [away("Clip", 4, 5, points=(-0.5, 0.75)), np.array(0.75), np.array(-0.5)], torch=torch_function("clamp"))
    yield Case("Dropout_default", "Dropout", [normal("Dropout", 4, 5)])
    yield Case("Dropout_ratio", "Dropout", [normal("Dropout", 4, 5), np.array(0.25)], wrt=(0,))
    yield Case("Dropout_eval", "Dropout", [normal("Dropout", 4, 5), np.array(0.25), np.array(False)], wrt=(0,))
    yield Case("Dropout_training", "Dropout", [normal("Dropout", 4, 5), np.array(0.25), np.array(True)], {"seed": 7}, wrt=(0,), outputs=2, only=(0,))
    yield Case("Dropout_zero", "Dropout", [normal("Dropout", 4, 5), np.array(0.0), np.array(True)], wrt=(0,))


def broadcasting():
    for op in ("Add", "Sub", "Mul", "Div", "Min", "Max"):
        for a, b in BROADCASTS:
            name = f"{op}_{shape_name(a, b)}"
            second = normal(name + "b", *b)
            if op == "Div":
                second = np.asarray(np.copysign(positive(name + "b", *b), second))
            torch = {"Min": "minimum", "Max": "maximum"}.get(op, op.lower())
            yield Case(name, op, [normal(name, *a), second], torch=torch_function(torch))
    for a, b in BROADCASTS:
        name = f"Pow_{shape_name(a, b)}"
        yield Case(name, "Pow", [positive(name, *a), normal(name + "b", *b)], torch=torch_function("pow"))
        name = f"Mod_{shape_name(a, b)}"
        yield Case(name, "Mod", [positive(name, *a) * 3 + 0.013, positive(name + "b", *b)], {"fmod": 1}, torch=torch_function("fmod"))
        name = f"Where_{shape_name(a, b)}"
        yield Case(name, "Where", [rng_of(name).random(np.broadcast_shapes(a, b)) < 0.5, normal(name, *a), normal(name + "b", *b)], torch=torch_function("where"))
    yield Case("Where_wide_condition", "Where", [rng_of("w").random((3,)) < 0.5, normal("w1", 2, 3), normal("w2", 1)], torch=torch_function("where"))
    for exponent in (0.0, 1.0, 2.0, 3.0, 0.5, -1.0, -0.5, 2.5, 4.0):
        yield Case(f"Pow_constant_{exponent}", "Pow", [positive("Powc", 2, 3), np.array(exponent)], constant=(1,), torch=torch_function("pow"))
    yield Case("Pow_constant_broadcast", "Pow", [positive("Powc", 3), np.full((2, 1), 2.0)], constant=(1,), torch=torch_function("pow"))
    yield Case("Pow_integer", "Pow", [normal("Powi", 2, 3), np.array(3, np.int64)], torch=torch_function("pow"))
    yield Case("Pow_integers", "Pow", [normal("Powi", 2, 3), ints(2, 3, 4)], torch=torch_function("pow"))
    yield Case("Pow_float32_exponent", "Pow", [positive("Powf", 2, 3), np.array([1.5, 2, -1], np.float32)], constant=(1,))
    yield Case("Mod_signs", "Mod", [np.array([5.3, -5.3, 5.3, -5.3]), np.array([2.0, 2.0, -2.0, -2.0])], {"fmod": 1}, torch=torch_function("fmod"))
    for op in ("Sum", "Mean", "Min", "Max"):
        for n, shapes in ((1, [(2, 3)]), (3, [(2, 3), (3,), (1, 1)]), (4, [(2, 3), (), (2, 1), (1, 3)])):
            yield Case(f"{op}_of_{n}", op, [normal(f"{op}{i}", *shape) for i, shape in enumerate(shapes)])


def edges():
    """Ties, kinks and special points, against PyTorch."""
    def functional(name, **options):
        def call(*operands):
            import torch
            return getattr(torch.nn.functional, name)(*operands, **options)
        return call

    kinks = np.array([-3.0, -2.5, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.5, 3.0])
    for op, torch, attributes in (("Relu", functional("relu"), {}), ("LeakyRelu", functional("leaky_relu"), {}), ("Elu", functional("elu"), {}),
                                  ("Selu", functional("selu"), {}), ("HardSwish", functional("hardswish"), {}), ("Abs", torch_function("abs"), {}),
                                  ("Shrink", functional("hardshrink"), {}), ("ThresholdedRelu", functional("threshold", threshold=1.0, value=0.0), {}),
                                  ("HardSigmoid", functional("hardsigmoid"), {"alpha": 1 / 6})):
        yield Case(f"{op}_kinks", op, [kinks], attributes, smooth=False, torch=torch, cotangents=[np.arange(1.0, 11)])
    yield Case("Relu_infinite_cotangent", "Relu", [np.array([-1.0, 0.0, 1.0])], smooth=False, cotangents=[np.full(3, INF)], expected={0: [0, 0, INF]})
    yield Case("Abs_infinite_cotangent", "Abs", [np.array([-1.0, 0.0, 1.0])], smooth=False, cotangents=[np.full(3, INF)], expected={0: [-INF, 0, INF]})
    yield Case("Where_infinite_cotangent", "Where", [np.array([True, False]), np.ones(2), np.ones(2)], smooth=False, cotangents=[np.full(2, INF)],
               expected={1: [INF, 0], 2: [0, INF]})
    yield Case("Clip_infinite_cotangent", "Clip", [np.array([-2.0, 0.0, 2.0]), np.array(-1.0), np.array(1.0)], constant=(1, 2), smooth=False,
               cotangents=[np.full(3, INF)], expected={0: [0, INF, 0]})
    yield Case("Clip_bounds", "Clip", [np.array([-2.0, -1.0, 0.0, 1.0, 2.0]), np.array(-1.0), np.array(1.0)], smooth=False, torch=torch_function("clamp"))
    for op, torch in (("Min", "minimum"), ("Max", "maximum")):
        yield Case(f"{op}_ties", op, [np.array([1.0, 2.0, 3.0, 3.0]), np.array([1.0, 3.0, 2.0, 3.0])], smooth=False, torch=torch_function(torch))
        yield Case(f"{op}_three_way_tie", op, [np.array([1.0, 2.0]), np.array([1.0, 2.0]), np.array([1.0, 2.0 if op == "Min" else 0.0])], smooth=False,
                   cotangents=[np.array([6.0, 6.0])], expected={0: [2, 2 if op == "Min" else 3], 1: [2, 2 if op == "Min" else 3], 2: [2, 2 if op == "Min" else 0]})
    grid = np.array([0.0, 0.0, 0.0, 1.0, 1.0, 2.0, -2.0, -2.0, -2.0])
    powers = np.array([0.0, 1.0, 2.0, 0.0, -1.0, 0.0, 2.0, 3.0, 0.0])
    yield Case("Pow_special", "Pow", [grid, powers], smooth=False, torch=torch_function("pow"))
    yield Case("Pow_zero_base_negative_exponent", "Pow", [np.zeros(1), np.array([-1.0])], smooth=False, torch=torch_function("pow"))
    for exponent in (0.0, 0.5, 1.0, 2.0, 3.0):
        yield Case(f"Pow_zero_base_{exponent}", "Pow", [np.array([0.0, 4.0]), np.array(exponent)], constant=(1,), smooth=False,
                   torch=lambda x, e: x ** e.item())
    yield Case("Sqrt_zero", "Sqrt", [np.array([0.0, 4.0])], smooth=False, torch=torch_function("sqrt"), cotangents=[np.ones(2)])
    yield Case("Sqrt_zero_no_cotangent", "Sqrt", [np.array([0.0, 4.0])], smooth=False, torch=torch_function("sqrt"), cotangents=[np.array([0.0, 1.0])])
    yield Case("Gelu_far", "Gelu", [np.array([-40.0, -10.0, 10.0, 40.0])], smooth=False, torch=functional("gelu"))
    yield Case("Mish_far", "Mish", [np.array([-300.0, -30.0, 25.0, 300.0])], smooth=False, torch=functional("mish"))
    yield Case("Softplus_far", "Softplus", [np.array([-300.0, -30.0, 15.0, 300.0])], smooth=False, torch=functional("softplus"))
    yield Case("Swish_far", "Swish", [np.array([-300.0, -30.0, 15.0, 300.0])], smooth=False, torch=functional("silu"))
    yield Case("Div_large_divisor", "Div", [np.array([1e200]), np.array([1e200])], smooth=False, cotangents=[np.array([1e200])], expected={0: [1.0], 1: [-1.0]})
