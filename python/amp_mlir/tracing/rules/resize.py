"""Images of another size."""

import numpy as np

from ..errors import Refusal
from ..registry import rule

_LINEAR = {"mode": "linear"}
_CUBIC = {"mode": "cubic", "cubic_coeff_a": -0.75}
_NEAREST = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
_EXACT = {"mode": "nearest", "coordinate_transformation_mode": "half_pixel", "nearest_mode": "round_prefer_ceil"}


def _resized(e, x, sizes, scales, **attributes):
    """Given scales decide where samples are taken, also where the size they give is rounded."""
    rank = x.rank - 2
    if scales is not None and all(scale is not None for scale in scales):
        factors = e.array(np.asarray([1.0, 1.0, *scales], np.float32))
        wanted = [int(x.size(2 + i) * scale) for i, scale in enumerate(scales)] if None not in x.shape[2:] else None
        if sizes is None or list(sizes) == wanted:
            return e.op("Resize", x, None, factors, None, **attributes)
    if sizes is None or len(sizes) != rank:
        raise Refusal("a size or a scale for each dimension has to be given")
    return e.op("Resize", x, None, None, e.vector([*e.dims(x)[:2], *sizes]), **attributes)


def _nearest(attributes):
    def vec(e, x, sizes, scales):
        return _resized(e, x, sizes, scales, **attributes)
    return vec


def _mode(align_corners):
    return {"coordinate_transformation_mode": "align_corners" if align_corners else "half_pixel"}


def _interpolated(attributes):
    def vec(e, x, sizes, align_corners, scales):
        return _resized(e, x, sizes, scales, **attributes, **_mode(align_corners))
    return vec


for _name, _attributes in (("upsample_nearest", _NEAREST), ("_upsample_nearest_exact", _EXACT)):
    for _rank in (1, 2, 3):
        rule(f"{_name}{_rank}d.vec")(_nearest(_attributes))
for _name, _attributes in (("upsample_linear1d", _LINEAR), ("upsample_bilinear2d", _LINEAR), ("upsample_trilinear3d", _LINEAR),
                           ("upsample_bicubic2d", _CUBIC), ("_upsample_bilinear2d_aa", _LINEAR | {"antialias": 1, "exclude_outside": 1}),
                           ("_upsample_bicubic2d_aa", _CUBIC | {"antialias": 1, "exclude_outside": 1, "cubic_coeff_a": -0.5})):
    rule(f"{_name}.vec")(_interpolated(_attributes))


@rule("upsample_nearest2d")
def upsample_nearest2d(e, x, sizes, scale_h, scale_w):
    return _resized(e, x, sizes, [scale_h, scale_w], **_NEAREST)


@rule("upsample_bilinear2d")
def upsample_bilinear2d(e, x, sizes, align_corners, scale_h, scale_w):
    return _resized(e, x, sizes, [scale_h, scale_w], **_LINEAR, **_mode(align_corners))


_GRID = {0: "linear", 1: "nearest", 2: "cubic"}
_PADDING = {0: "zeros", 1: "border", 2: "reflection"}


@rule("grid_sampler", "grid_sampler_2d", "grid_sampler_3d")
def grid_sampler(e, x, grid, interpolation, padding, align_corners):
    return e.op("GridSample", x, grid, mode=_GRID[interpolation], padding_mode=_PADDING[padding], align_corners=int(align_corners))


@rule("affine_grid_generator")
def affine_grid(e, theta, size, align_corners):
    return e.op("AffineGrid", theta, e.vector(size), align_corners=int(align_corners))
