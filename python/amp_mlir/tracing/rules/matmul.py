"""Matrix products and what is made of them."""

from ..errors import Refusal
from ..registry import CUDA, composite, rule
from .reductions import vector_norm


@rule("linear")
def linear(e, x, weight, bias):
    """The bias takes the product's type, as in the kernel: added in its own, it would widen the result."""
    if x.rank == 2 and weight.rank == 2:
        return e.op("Gemm", x, weight, bias, transB=1)
    product = e.op("MatMul", x, e.transpose(weight, range(weight.rank)[::-1]))
    return product if bias is None else product + e.cast_like(bias, product)


@rule("matmul", "mm", "bmm", "mv", "dot", "linalg_matmul", "inner")
def matmul(e, x, y):
    return e.op("MatMul", x, y)


def _scaled(x, factor):
    return x if factor == 1 else x * factor


def _sum_with_product(e, x, product, beta, alpha):
    product = _scaled(product, alpha)
    return product if beta == 0 else _scaled(e.cast_like(x, product), beta) + product


@rule("addmm")
def addmm(e, x, a, b, beta, alpha):
    return e.op("Gemm", a, b, None if beta == 0 else x, alpha=float(alpha), beta=float(beta))


@rule("baddbmm")
def baddbmm(e, x, a, b, beta, alpha):
    return _sum_with_product(e, x, e.op("MatMul", a, b), beta, alpha)


@rule("addmv")
def addmv(e, x, a, b, beta, alpha):
    return _sum_with_product(e, x, e.op("MatMul", a, b), beta, alpha)


@rule("addbmm")
def addbmm(e, x, a, b, beta, alpha):
    return _sum_with_product(e, x, e.reduce("ReduceSum", e.op("MatMul", a, b), [0]), beta, alpha)


@rule("outer", "ger")
def outer(e, x, y):
    x, y = e.promote(x, y)
    return e.unsqueeze(x, [1]) * e.unsqueeze(y, [0])


@rule("einsum")
def einsum(e, equation, operands):
    equation = equation.replace(" ", "")
    if len(operands) == 2 and "." not in equation:
        return _contract(e, equation, *e.promote(*operands))
    return e.op("Einsum", *e.promote(*operands), equation=equation)


def _contract(e, equation, x, y):
    """Two operands as one matrix product: batch letters, kept letters of each side, summed letters."""
    left, _, out = equation.partition("->")
    left, right = left.split(",")
    if "->" not in equation:
        letters = left + right
        out = "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    if any(len(set(part)) != len(part) for part in (left, right, out)):
        return e.op("Einsum", x, y, equation=equation)
    # What only one side has and the result has not is summed first.
    x, left = _sum_alone(e, x, left, right + out)
    y, right = _sum_alone(e, y, right, left + out)
    batch = [c for c in left if c in right and c in out]
    summed = [c for c in left if c in right and c not in out]
    rows = [c for c in left if c not in right]
    columns = [c for c in right if c not in left]
    if not summed:
        return _broadcast_product(e, x, y, left, right, out)
    sizes = {c: e.dim(y, right.index(c)) for c in right} | {c: e.dim(x, left.index(c)) for c in left}
    a = _as_matrix(e, x, left, batch, rows, summed, sizes)
    b = _as_matrix(e, y, right, batch, summed, columns, sizes)
    product = e.reshape(e.op("MatMul", a, b), [sizes[c] for c in (*batch, *rows, *columns)])
    return e.transpose(product, [(*batch, *rows, *columns).index(c) for c in out])


def _sum_alone(e, x, letters, others):
    alone = [i for i, c in enumerate(letters) if c not in others]
    if alone:
        x = e.reduce("ReduceSum", x, alone)
    return x, "".join(c for c in letters if c in others)


def _as_matrix(e, x, letters, batch, first, second, sizes):
    x = e.transpose(x, [letters.index(c) for c in (*batch, *first, *second)])
    shape = [sizes[c] for c in batch]
    for group in (first, second):
        if len(group) == 1:
            shape.append(sizes[group[0]])
        elif all(isinstance(sizes[c], int) for c in group):
            count = 1
            for c in group:
                count *= sizes[c]
            shape.append(count)
        else:
            shape.append(-1)
    return x if len(first) == len(second) == 1 else e.reshape(x, shape)


def _broadcast_product(e, x, y, left, right, out):
    """Nothing is summed: a product of tensors with the dimensions in the order of the result."""
    def place(t, letters):
        t = e.transpose(t, [letters.index(c) for c in out if c in letters])
        return e.unsqueeze(t, [i for i, c in enumerate(out) if c not in letters])
    return place(x, left) * place(y, right)


@rule("tensordot")
def tensordot(e, x, y, dims_x, dims_y):
    letters = "abcdefghijklmnopqrstuvwxyz"
    left = list(letters[:x.rank])
    right = list(letters[x.rank:x.rank + y.rank])
    for i, j in zip(dims_x, dims_y):
        right[y.axis(j)] = left[x.axis(i)]
    out = [c for c in left if c not in right] + [c for c in right if c not in left]
    return _contract(e, f"{''.join(left)},{''.join(right)}->{''.join(out)}", *e.promote(x, y))


@rule("bilinear")
def bilinear(e, x, y, weight, bias):
    """x W y for each output: (x, in1), (out, in1, in2), (y, in2)."""
    first = e.op("MatMul", e.unsqueeze(x, [x.rank - 1, x.rank]), weight)
    result = e.squeeze(e.op("MatMul", first, e.unsqueeze(y, [y.rank - 1, y.rank + 1])), [x.rank, x.rank + 1])
    return result if bias is None else result + e.cast_like(bias, result)


@composite("cosine_similarity", wide=(CUDA,))
def cosine_similarity(e, x, y, dim, eps):
    x, y = e.promote(x, y)
    product = e.reduce("ReduceSum", x * y, dim)
    def size(t):
        return e.op("Max", e.op("Sqrt", e.reduce("ReduceSum", t * t, dim)), e.number(eps, t.dtype))
    return product / (size(x) * size(y))


@composite("pairwise_distance")
def pairwise_distance(e, x, y, order, eps, keep):
    return vector_norm(e, x - y + eps, order, -1, keep, None)


@composite("cdist", wide=(CUDA,))
def cdist(e, x, y, order, mode):
    if order < 1:
        raise Refusal("distances of an order below 1 are not supported")
    difference = e.unsqueeze(x, [x.rank - 1]) - e.unsqueeze(y, [y.rank - 2])
    return vector_norm(e, difference, order, -1, False, None)
