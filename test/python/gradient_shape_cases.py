"""More cases of test_gradients.py: reductions, data movement, indexing and matrix products."""
import numpy as np

from gradient_batch import Case, rng_of
from gradient_cases import ints, normal, positive, shape_name, torch_function


def reductions():
    axes = [None, ints(), ints(0), ints(1), ints(-1), ints(0, 2), ints(-2, 0), ints(0, 1, 2)]
    for op in "Sum Mean Max Min Prod L1 L2 SumSquare LogSum LogSumExp".split():
        draw = positive if op == "LogSum" else normal
        for number, axis in enumerate(axes):
            for keepdims in (0, 1):
                name = f"Reduce{op}_{number}_{keepdims}"
                yield Case(name, f"Reduce{op}", [draw(name, 2, 3, 4), axis], {"keepdims": keepdims})
        yield Case(f"Reduce{op}_noop", f"Reduce{op}", [draw(op, 2, 3)], {"noop_with_empty_axes": 1})
        if op != "LogSumExp":  # the reference implementation fails
            yield Case(f"Reduce{op}_scalar", f"Reduce{op}", [draw(op + "s")], {"keepdims": 0})
        yield Case(f"Reduce{op}_ones", f"Reduce{op}", [draw(op + "1", 1, 3, 1), ints(0, 2)], {"keepdims": 0})
    for op, function in (("Max", "amax"), ("Min", "amin")):
        yield Case(f"Reduce{op}_ties", f"Reduce{op}", [np.array([[1.0, 3, 3, 1], [2, 2, 2, 2]]), ints(1)], {"keepdims": 0}, smooth=False,
                   torch=lambda x, _, f=function: torch_function(f)(x, 1))
    yield Case("ReduceProd_zeros", "ReduceProd", [np.array([[1.0, 2, 3], [0, 2, 3], [0, 2, 0], [0, 0, 0]]), ints(1)], {"keepdims": 0}, smooth=False,
               torch=lambda x, _: x.prod(1))
    yield Case("ReduceL2_zeros", "ReduceL2", [np.array([[0.0, 0], [3, 4]]), ints(1)], {"keepdims": 0}, smooth=False,
               torch=lambda x, _: x.norm(dim=1))
    yield Case("ReduceL1_zeros", "ReduceL1", [np.array([[0.0, -2], [3, 4]]), ints(1)], {"keepdims": 0}, smooth=False, torch=lambda x, _: x.abs().sum(1))
    yield Case("ReduceLogSumExp_large", "ReduceLogSumExp", [np.array([[1000.0, 999], [-1000, -1001]]), ints(1)], {"keepdims": 0}, smooth=False,
               torch=lambda x, _: x.logsumexp(1))
    for exclusive in (0, 1):
        for reverse in (0, 1):
            for axis in (0, -1, 1):
                name = f"CumSum_{exclusive}{reverse}{axis}"
                yield Case(name, "CumSum", [normal(name, 3, 4), np.array(axis)], {"exclusive": exclusive, "reverse": reverse})


def movement():
    x = normal("movement", 2, 3, 4)
    for op, rest, attributes in (
            ("Identity", [], {}), ("Flatten", [], {}), ("Flatten", [], {"axis": 0}), ("Flatten", [], {"axis": -1}), ("Flatten", [], {"axis": 3}),
            ("Reshape", [ints(4, 6)], {}), ("Reshape", [ints(0, -1)], {}), ("Reshape", [ints(-1)], {}), ("Unsqueeze", [ints(0, -1)], {}),
            ("Transpose", [], {}), ("Transpose", [], {"perm": [1, 2, 0]}), ("Transpose", [], {"perm": [0, 2, 1]}),
            ("Expand", [ints(2, 3, 4)], {}), ("Expand", [ints(5, 2, 3, 4)], {}), ("Tile", [ints(1, 1, 1)], {}), ("Tile", [ints(3, 1, 2)], {}),
            ("Trilu", [], {}), ("Trilu", [], {"upper": 0}), ("Trilu", [np.array(1)], {}), ("Trilu", [np.array(-1)], {"upper": 0}),
            ("ReverseSequence", [ints(1, 3, 2)], {"time_axis": 0, "batch_axis": 1}), ("ReverseSequence", [ints(1, 3)], {"time_axis": 1, "batch_axis": 0})):
        if op == "ReverseSequence" and attributes["time_axis"] == 0:
            rest = [ints(1, 2, 2)]
        extra = "_".join([*(f"{k}{v}" for k, v in attributes.items()), *(str(r.tolist()) for r in rest)]).replace(" ", "")
        yield Case(f"{op}_{extra}", op, [x, *rest], attributes)
    yield Case("Cast_double", "Cast", [normal("cast", 3)], {"to": 11})
    yield Case("CastLike", "CastLike", [normal("castlike", 3), np.array(1.0)], constant=(1,))
    yield Case("Reshape_scalar", "Reshape", [normal("one", 1, 1), ints()])
    yield Case("Squeeze", "Squeeze", [normal("squeeze", 1, 3, 1, 2)])
    yield Case("Squeeze_axes", "Squeeze", [normal("squeeze", 1, 3, 1, 2), ints(-2)])
    yield Case("Expand_ones", "Expand", [normal("expand", 1, 3, 1), ints(2, 3, 4)])
    yield Case("Expand_scalar", "Expand", [normal("expand"), ints(2, 3)])
    yield Case("Expand_both_ways", "Expand", [normal("expand", 3, 1), ints(2, 1, 4)])
    yield Case("Tile_vector", "Tile", [normal("tile", 3), ints(4)])


def joins():
    x = normal("slice", 5, 6, 3)
    low, high = -2**63, 2**63 - 1
    for number, arguments in enumerate((
            (ints(1), ints(4)), (ints(0, 2), ints(5, 6)), (ints(-3), ints(high)), (ints(1), ints(-1), ints(1)), (ints(1), ints(6), ints(-2), ints(2)),
            (ints(0), ints(6), ints(1), ints(3)), (ints(-1), ints(low), ints(1), ints(-1)), (ints(4), ints(0), ints(1), ints(-2)),
            (ints(4, 1), ints(-100, 100), ints(0, 1), ints(-3, 4)), (ints(5), ints(5), ints(0), ints(1)), (ints(-100), ints(100), ints(2), ints(2)),
            (ints(0), ints(1), ints(0), ints(7)), (ints(100), ints(-100), ints(0), ints(-4)))):
        yield Case(f"Slice_{number}", "Slice", [x, *arguments])
    yield Case("Slice_int32", "Slice", [x, *(a.astype(np.int32) for a in (ints(1), ints(4), ints(0), ints(2)))])
    for axis in (0, 1, -1):
        shapes = [[2, 3, 4] for _ in range(3)]
        for n, shape in enumerate(shapes):
            shape[axis] = n + 1
        yield Case(f"Concat_{axis}", "Concat", [normal(f"c{n}{axis}", *shape) for n, shape in enumerate(shapes)], {"axis": axis})
    yield Case("Concat_one", "Concat", [normal("c", 2, 3)], {"axis": 0})
    yield Case("Concat_empty", "Concat", [normal("c", 2, 3), normal("c", 0, 3)], {"axis": 0})
    y = normal("split", 6, 4)
    yield Case("Split_equal", "Split", [y], {"num_outputs": 3}, outputs=3)
    yield Case("Split_uneven", "Split", [y], {"num_outputs": 4}, outputs=4)
    yield Case("Split_sizes", "Split", [y, ints(1, 3, 2)], outputs=3)
    yield Case("Split_axis", "Split", [y, ints(3, 1)], {"axis": -1}, outputs=2)
    yield Case("Split_one_used", "Split", [y, ints(1, 3, 2)], outputs=3, only=(1,))
    yield Case("Split_two_used", "Split", [y, ints(1, 3, 2)], outputs=3, only=(2, 0))
    yield Case("Split_one", "Split", [y], {"num_outputs": 1}, outputs=1)


def pads():
    x = normal("pad", 3, 4)
    for mode, pads_of in (("constant", [(1, 0, 2, 3), (0, -1, 2, 1), (-1, -2, -1, -1), (0, 0, 0, 0)]), ("reflect", [(2, 1, 0, 3), (0, 0, 2, 0)]),
                          ("edge", [(2, 1, 0, 3), (5, 0, 0, 0)]), ("wrap", [(2, 1, 0, 3), (3, 0, 1, 4)])):
        for number, pads in enumerate(pads_of):
            yield Case(f"Pad_{mode}_{number}", "Pad", [x, ints(*pads)], {"mode": mode})
    yield Case("Pad_value", "Pad", [x, ints(1, 0, 2, 3), np.array(0.5)])
    yield Case("Pad_value_negative", "Pad", [x, ints(1, -1, -2, 3), np.array(0.5)])
    yield Case("Pad_axes", "Pad", [x, ints(1, 2), None, ints(-1)])
    yield Case("Pad_value_axes", "Pad", [x, ints(1, 2), np.array(0.5), ints(1)])
    yield Case("Pad_edge_axes", "Pad", [x, ints(1, 2), None, ints(0)], {"mode": "edge"})


def indexing():
    x = normal("gather", 4, 5, 3)
    for axis in (0, 1, -1):
        for name, indices in (("matrix", np.array([[0, 2], [1, 2]])), ("negative", ints(-1, 0, -3)), ("duplicates", ints(2, 2, 0, 2)), ("scalar", np.array(1)), ("slice", np.array([[-2, -1]])),
                              ("int32", np.array([2, -1], np.int32))):
            yield Case(f"Gather_{axis}_{name}", "Gather", [x, indices], {"axis": axis})
    yield Case("Gather_vector", "Gather", [normal("g", 4), np.array(-2)])
    for axis in (0, -1):
        indices = rng_of("elements", axis).integers(-3, 3, (3, 2, 3))
        yield Case(f"GatherElements_{axis}", "GatherElements", [x, indices], {"axis": axis})
    yield Case("GatherND", "GatherND", [x, np.array([[0, 1], [3, 4], [0, 1]])])
    yield Case("GatherND_full", "GatherND", [x, np.array([[[0, 1, 2]], [[3, 4, 0]]])])
    yield Case("GatherND_negative", "GatherND", [x, np.array([[-1, -2], [3, 3]])])
    yield Case("GatherND_batch", "GatherND", [x, np.array([[1], [0], [4], [1]])], {"batch_dims": 1})
    yield Case("GatherND_batch_many", "GatherND", [x, np.array([[[1], [1]], [[0], [-1]], [[4], [2]], [[1], [0]]])], {"batch_dims": 1})
    yield Case("GatherND_batch_2", "GatherND", [x, rng_of("b2").integers(0, 3, (4, 5, 1))], {"batch_dims": 2})
    for largest in (0, 1):
        for axis in (0, -1):
            yield Case(f"TopK_{largest}{axis}", "TopK", [x, ints(2)], {"largest": largest, "axis": axis}, outputs=2, only=(0,))
    yield Case("TopK_unsorted", "TopK", [x, ints(3)], {"sorted": 0}, outputs=2, only=(0,))


def scatters():
    x, u = normal("scatter", 4, 5), normal("updates", 2, 3)
    repeated = np.array([[0, 0, 1], [0, 0, 1]])
    for reduction in ("none", "add", "mul", "max", "min"):
        yield Case(f"ScatterElements_{reduction}", "ScatterElements", [x, np.array([[0, -1, 1], [2, 2, 0]]), u], {"reduction": reduction})
        yield Case(f"ScatterElements_{reduction}_axis", "ScatterElements", [x, np.array([[0, -1, 1], [4, 3, 1]]), u], {"reduction": reduction, "axis": 1})
        yield Case(f"ScatterND_{reduction}", "ScatterND", [x, np.array([[3], [0]]), normal("su", 2, 5)], {"reduction": reduction})
        yield Case(f"ScatterND_{reduction}_elements", "ScatterND", [x, np.array([[[3, 1]], [[0, -1]]]), normal("se", 2, 1)], {"reduction": reduction})
        if reduction != "none":
            yield Case(f"ScatterElements_{reduction}_repeated", "ScatterElements", [x, repeated, u], {"reduction": reduction})
            yield Case(f"ScatterND_{reduction}_repeated", "ScatterND", [x, np.array([[3], [0], [3]]), normal("sr", 3, 5)], {"reduction": reduction})
    yield Case("ScatterElements_mul_zeros", "ScatterElements", [np.array([2.0, 3, 5]), ints(0, 0, 1, 1, 2), np.array([0.0, 7, 0, 0, 4])],
               {"reduction": "mul"}, smooth=False, cotangents=[np.ones(3)], expected={0: [0, 0, 4], 2: [14, 0, 0, 0, 5]})
    yield Case("ScatterElements_max_ties", "ScatterElements", [np.array([2.0, 3, 5]), ints(0, 0, 1, 1), np.array([2.0, 2, 4, 4])],
               {"reduction": "max"}, smooth=False, cotangents=[np.array([6.0, 6, 6])], expected={0: [2, 0, 6], 2: [2, 2, 3, 3]})


def products():
    for a, b in (((2, 3), (3, 4)), ((3,), (3, 4)), ((2, 3), (3,)), ((3,), (3,)), ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)), ((5, 2, 3), (5, 3, 4)),
                 ((1, 2, 3), (5, 3, 4)), ((6, 1, 2, 3), (5, 3, 4)), ((3,), (5, 3, 4)), ((5, 2, 3), (3,)), ((7, 5, 2, 3), (3, 1)), ((1, 1), (1, 1))):
        name = f"MatMul_{shape_name(a, b)}"
        yield Case(name, "MatMul", [normal(name, *a), normal(name + "b", *b)], torch=torch_function("matmul"))
    for ta in (0, 1):
        for tb in (0, 1):
            for number, (c, alpha, beta) in enumerate(((None, 1.0, 1.0), ((4,), 1.0, 1.0), ((2, 4), 0.5, 2.0), ((2, 1), 1.0, 0.25), ((), 1.5, 1.0), ((1, 4), 1.0, 0.0))):
                name = f"Gemm_{ta}{tb}_{number}"
                operands = [normal(name, *((3, 2) if ta else (2, 3))), normal(name + "b", *((4, 3) if tb else (3, 4)))]
                if c is not None:
                    operands.append(normal(name + "c", *c))
                yield Case(name, "Gemm", operands, {"transA": ta, "transB": tb, "alpha": alpha, "beta": beta})
    for number, (equation, shapes) in enumerate((
            ("ij,jk->ik", ((2, 3), (3, 4))), ("bij,bjk->bik", ((2, 3, 4), (2, 4, 5))), ("i,i->", ((3,), (3,))), ("i,j->ij", ((2,), (3,))), ("ij->ji", ((2, 3),)),
            ("ij->", ((2, 3),)), ("ij->j", ((2, 3),)), ("ii->i", ((3, 3),)), ("ii->", ((3, 3),)), ("iij->j", ((3, 3, 2),)), ("...ij,...jk->...ik", ((5, 2, 3), (1, 3, 4))),
            ("...ij,...jk", ((5, 1, 2, 3), (5, 6, 3, 4))), ("i...,i...->...", ((2, 3, 4), (2, 1, 4))), ("ij,kj", ((2, 3), (4, 3))), ("bhqd,bhkd->bhqk", ((2, 2, 3, 4), (2, 2, 5, 4))),
            ("ij,jk,kl->il", ((2, 3), (3, 4), (4, 5))), ("ij,ik->i", ((2, 3), (2, 4))), ("ij,ij,j->i", ((2, 3), (2, 3), (3,))), (" i j , j -> i ", ((2, 3), (3,))),
            ("...,...->...", ((2, 3), (1, 3))), ("...->...", ((2, 3),)), ("iij,ij->ij", ((2, 2, 3), (2, 3))))):
        yield Case(f"Einsum_{number}", "Einsum", [normal(f"einsum{number}{i}", *shape) for i, shape in enumerate(shapes)], {"equation": equation},
                   torch=lambda *operands, e=equation: torch_function("einsum")(e.replace(" ", ""), *operands))
