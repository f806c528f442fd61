"""Tensors of the program and the operators that rules make of them."""

from __future__ import annotations

import numpy as np
import torch

from .errors import Refusal

DTYPES = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16", torch.float64: "f64", torch.int64: "i64", torch.int32: "i32",
          torch.int16: "i16", torch.int8: "i8", torch.uint8: "u8", torch.bool: "i1"}
TORCH = {name: dtype for dtype, name in DTYPES.items()}
ONNX_CODES = {"f32": 1, "u8": 2, "i8": 3, "i16": 5, "i32": 6, "i64": 7, "i1": 9, "f16": 10, "f64": 11, "bf16": 16}
FLOATS, HALVES = ("f16", "bf16", "f32", "f64"), ("f16", "bf16")
_NUMPY = {"f32": np.float32, "f16": np.float16, "f64": np.float64, "i64": np.int64, "i32": np.int32, "i16": np.int16, "i8": np.int8,
          "u8": np.uint8, "i1": np.bool_}


def dtype_name(dtype: torch.dtype) -> str:
    if dtype not in DTYPES:
        raise Refusal(f"{dtype} is not supported")
    return DTYPES[dtype]


class Tensor:
    """A value of the graph. `shape` holds an int for each known dimension and None for the others."""

    __slots__ = ("emit", "value", "shape")

    def __init__(self, emit, value, shape=None):
        self.emit, self.value = emit, value
        if shape is None:
            shape = value.shape
        self.shape = tuple(d if isinstance(d, int) and d >= 0 else None for d in shape)

    @property
    def dtype(self) -> str:
        return self.value.dtype

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def is_float(self) -> bool:
        return self.dtype in FLOATS

    def axis(self, dim: int) -> int:
        """`dim` counted from the front."""
        return dim + max(self.rank, 1) if dim < 0 else dim

    def size(self, dim: int) -> int:
        """A dimension that the rule has to know."""
        size = self.shape[dim]
        if size is None:
            raise Refusal(f"dimension {dim} has to be known, but it is symbolic")
        return size

    def count(self, dims=None) -> int:
        """The number of elements along `dims` (all)."""
        return int(np.prod([self.size(d) for d in (range(self.rank) if dims is None else dims)], dtype=np.int64))

    def with_shape(self, shape):
        """The same value, of which more is known."""
        return Tensor(self.emit, self.value, shape)

    def __add__(self, other):
        return self.emit.binary("Add", self, other)

    def __sub__(self, other):
        return self.emit.binary("Sub", self, other)

    def __mul__(self, other):
        return self.emit.binary("Mul", self, other)

    def __truediv__(self, other):
        return self.emit.binary("Div", self, other)

    __radd__, __rmul__ = __add__, __mul__

    def __rsub__(self, other):
        return self.emit.binary("Sub", other, self)

    def __rtruediv__(self, other):
        return self.emit.binary("Div", other, self)

    def __neg__(self):
        return self.emit.op("Neg", self)

    def __lt__(self, other):
        return self.emit.binary("Less", self, other)

    def __gt__(self, other):
        return self.emit.binary("Greater", self, other)

    def __le__(self, other):
        return self.emit.binary("LessOrEqual", self, other)

    def __ge__(self, other):
        return self.emit.binary("GreaterOrEqual", self, other)


class Size:
    """An integer known only when the program runs (a symbolic dimension and what is computed of it); `tensor` is i64 of shape [1]."""

    __slots__ = ("tensor",)

    def __init__(self, tensor):
        self.tensor = tensor


class Emit:
    """Makes operators at the place of one node of the traced program.

    policy: name of the autocast policy that holds here, or None. path: '/layer1/0'; location: (file, line) or None.
    """

    def __init__(self, builder, names):
        self.builder, self.names = builder, names
        self.policy, self.path, self.location = None, "", None

    # Operators ------------------------------------------------------------------------------------

    def ops(self, kind, *inputs, outputs, **attributes):
        """The results of one operator; inputs are tensors or None, attributes that are None are left out."""
        values = [getattr(x, "value", x) for x in inputs]
        while values and values[-1] is None:
            values.pop()
        attributes = {key.replace("__", "."): value for key, value in attributes.items() if value is not None}
        name = self.names.unique(f"{self.path}/{kind}")
        results = self.builder.op(kind, values, attrs=attributes, num_outputs=outputs, name=name, loc=self.location)
        return [Tensor(self, value) for value in results]

    def op(self, kind, *inputs, **attributes):
        return self.ops(kind, *inputs, outputs=1, **attributes)[0]

    def binary(self, kind, left, right):
        """One of the operands may be a number; it gets the other's type."""
        dtype = (left if isinstance(left, Tensor) else right).dtype
        return self.op(kind, self.like(left, dtype), self.like(right, dtype))

    def like(self, x, dtype):
        """A number, a symbolic size or a tensor as a tensor of `dtype`."""
        if isinstance(x, Size):
            return self.cast(self.op("Squeeze", x.tensor, self.ints([0])), dtype)
        return self.cast(x, dtype) if isinstance(x, Tensor) else self.number(x, dtype)

    # Constants ------------------------------------------------------------------------------------

    def array(self, array):
        """A numpy array as a constant."""
        array = np.ascontiguousarray(array) if np.ndim(array) else np.asarray(array)
        return Tensor(self, self.builder.initializer("", array))

    def ints(self, values):
        return self.array(np.asarray(values, np.int64))

    def number(self, number, dtype):
        """A constant of rank 0."""
        if dtype == "bf16":
            return self.cast(self.array(np.asarray(number, np.float32)), "bf16")
        if dtype == "f16":
            return self.array(torch.tensor(number, dtype=torch.float16).numpy())
        return self.array(np.asarray(number).astype(_NUMPY[dtype]))

    def full(self, shape, number, dtype):
        """A tensor of one number; shape holds ints and sizes."""
        return self.op("Expand", self.number(number, dtype), self.vector(shape))

    # Types ----------------------------------------------------------------------------------------

    def cast(self, x, dtype):
        if x.dtype == dtype:
            return x
        return Tensor(self, self.op("Cast", x, to=ONNX_CODES[dtype]).value, x.shape)

    def cast_like(self, x, like):
        """x in the type that `like` has when the program runs, which autocast may have changed."""
        x = self.cast(x, like.dtype)
        if self.policy is None or not like.is_float:
            return x
        return Tensor(self, self.op("CastLike", x, like).value, x.shape)

    def widen(self, x):
        """Floats in the type kernels compute in: halves in float32, also those that autocast makes."""
        if x.dtype in HALVES or (x.dtype == "f32" and self.policy):
            return Tensor(self, self.op("Cast", x, to=ONNX_CODES["f32"]).value, x.shape)
        return x

    def promote(self, *xs):
        """Numbers and tensors in the one type that PyTorch promotes them to; at least one is a tensor."""
        dtype = result_type(*xs)
        return [self.like(x, dtype) for x in xs]

    def as_float(self, x):
        """Integers and truth values become float32, as in functions of real numbers."""
        return x if x.is_float else self.cast(x, "f32")

    def stop_gradient(self, x):
        return Tensor(self, self.op("Identity", x, train__stop_gradient=True).value, x.shape)

    # Shapes ---------------------------------------------------------------------------------------

    def vector(self, sizes):
        """Ints and sizes as one vector."""
        if all(isinstance(size, int) for size in sizes):
            return self.ints(sizes)
        parts = [size.tensor if isinstance(size, Size) else self.ints([size]) for size in sizes]
        return parts[0] if len(parts) == 1 else self.op("Concat", *parts, axis=0)

    def dim(self, x, dim):
        """One dimension of x as an int or a size."""
        dim = x.axis(dim)
        if x.shape[dim] is not None:
            return x.shape[dim]
        return Size(self.op("Shape", x, start=dim, end=dim + 1))

    def dims(self, x):
        return [self.dim(x, d) for d in range(x.rank)]

    def reshape(self, x, sizes):
        """x in a shape of ints and sizes; one of them may be -1, and a single size becomes it."""
        sizes = list(sizes)
        unknown = [i for i, size in enumerate(sizes) if isinstance(size, Size)]
        if len(unknown) == 1 and -1 not in sizes and 0 not in sizes:
            sizes[unknown[0]] = -1
        # 0 copies a dimension unless allowzero says otherwise.
        allow = 1 if 0 in sizes and -1 not in sizes else None
        return self.op("Reshape", x, self.vector(sizes), allowzero=allow)

    def transpose(self, x, order):
        order = list(order)
        return x if order == list(range(len(order))) else self.op("Transpose", x, perm=order)

    def unsqueeze(self, x, axes):
        return self.op("Unsqueeze", x, self.ints(axes)) if axes else x

    def squeeze(self, x, axes):
        return self.op("Squeeze", x, self.ints(axes)) if axes else x

    def slice(self, x, dim, start, stop, step=1):
        """x[start:stop:step] along one dimension; the bounds are ints or sizes."""
        return self.op("Slice", x, self.vector([start]), self.vector([stop]), self.ints([dim]), self.ints([step]) if step != 1 else None)

    def reduce(self, kind, x, dims, keep=False):
        """ReduceSum and its like; no dims: all of them."""
        dims = list(range(x.rank)) if dims is None or (isinstance(dims, (list, tuple)) and not dims) else dims
        dims = [x.axis(d) for d in ([dims] if isinstance(dims, int) else dims)]
        if x.rank == 0:
            dims = []
            return self.op(kind, x, None, keepdims=int(keep), noop_with_empty_axes=0)
        return self.op(kind, x, self.ints(dims), keepdims=int(keep))

    def where(self, condition, left, right):
        return self.op("Where", condition, left, right)


def result_type(*xs) -> str:
    """The type PyTorch's promotion gives tensors, 0-dim tensors and Python numbers."""
    groups = {"dims": None, "zero": None, "number": None}
    for x in xs:
        if isinstance(x, Tensor):
            group, dtype = ("dims" if x.rank else "zero"), TORCH[x.dtype]
        else:
            is_float = isinstance(x, float)
            group, dtype = "number", torch.bool if isinstance(x, bool) else torch.float32 if is_float else torch.int64
        groups[group] = dtype if groups[group] is None else torch.promote_types(groups[group], dtype)
    result = None
    for dtype in groups.values():
        if dtype is not None and (result is None or _category(dtype) > _category(result)):
            result = dtype
    return DTYPES[result]


def _category(dtype):
    return 0 if dtype == torch.bool else 2 if dtype.is_floating_point else 1
