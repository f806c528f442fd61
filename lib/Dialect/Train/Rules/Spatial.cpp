//===- Spatial.cpp - Gradient rules of resizing and blocks ----------------===//
//
// Resize is a matrix along each axis, its gradient the transposed matrix: a
// gather form, with one order of sums.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.DEF.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.STUVWXYZ.h"
#include "amp/Dialect/Onnx/Utils/ResizeTaps.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace amp;
using namespace amp::train;

namespace {

//===----------------------------------------------------------------------===//
// Resize
//===----------------------------------------------------------------------===//

/// How often each element is repeated, if the axis is repeated in whole.
std::optional<int64_t> getRepeats(const onnx::ResizedAxis &axis) {
  int64_t repeats = axis.outputSize / axis.inputSize;
  if (axis.outputSize % axis.inputSize)
    return std::nullopt;
  for (auto [output, taps] : llvm::enumerate(axis.taps))
    if (taps.size() != 1 || taps.front().weight != 1 ||
        taps.front().index != int64_t(output) / repeats)
      return std::nullopt;
  return repeats;
}

/// The matrix (output, input) of an axis.
Value getMatrix(Vjp &vjp, const onnx::ResizedAxis &axis, Type element) {
  SmallVector<double> weights(axis.outputSize * axis.inputSize);
  for (auto [output, taps] : llvm::enumerate(axis.taps))
    for (const onnx::ResizeTap &tap : taps)
      weights[output * axis.inputSize + tap.index] += tap.weight;
  SmallVector<Attribute> values;
  for (double weight : weights)
    values.push_back(FloatAttr::get(element, weight));
  return vjp.constant(DenseElementsAttr::get(
      RankedTensorType::get({axis.outputSize, axis.inputSize}, element),
      values));
}

/// The cotangent before `axis` was resized, from `g` after it; both wide.
Value unresize(Vjp &vjp, const onnx::ResizedAxis &axis, Value g) {
  SmallVector<int64_t> shape(onnx::getStaticShape(g));
  if (std::optional<int64_t> repeats = getRepeats(axis)) {
    SmallVector<int64_t> split(shape);
    split[axis.axis] = axis.inputSize;
    split.insert(split.begin() + axis.axis + 1, *repeats);
    return vjp.reduce("ReduceSum", vjp.reshape(g, split), {axis.axis + 1},
                      /*keepDims=*/false);
  }
  // The axis last and back.
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
  std::swap(order[axis.axis], order.back());
  Value moved = vjp.transpose(g, order);
  SmallVector<int64_t> movedShape(onnx::getStaticShape(moved));
  int64_t rows = 1;
  for (int64_t size : ArrayRef(movedShape).drop_back())
    rows *= size;
  Type element = onnx::getElementType(g);
  Value product = MatMulOp::create(
      vjp.getBuilder(), vjp.getLoc(), element,
      vjp.reshape(moved, {rows, axis.outputSize}), /*transA=*/false,
      getMatrix(vjp, axis, element), /*transB=*/false);
  movedShape.back() = axis.inputSize;
  return vjp.transpose(vjp.reshape(product, movedShape), order);
}

struct ResizeRule : Rule<ResizeRule, onnx::ResizeOp> {
  bool carriesGradient(Operation *, unsigned index) const { return index == 0; }

  LogicalResult build(onnx::ResizeOp op, Vjp &vjp) const {
    FailureOr<SmallVector<onnx::ResizedAxis>> axes =
        onnx::getResizedAxes(op, [&] {
          InFlightDiagnostic error = op->emitError() << "gradient of Resize ";
          if (StringRef name = onnx::getNodeName(op); !name.empty())
            error << '\'' << name << "' ";
          return error;
        });
    if (failed(axes))
      return failure();
    Value g = vjp.widen(vjp.cotangent(0));
    for (const onnx::ResizedAxis &axis : llvm::reverse(*axes))
      g = unresize(vjp, axis, g);
    vjp.set(0, vjp.cast(g, onnx::getElementType(op.getX())));
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// (batch, channels, height, width) as (batch, channels block^2, height /
/// block, width / block), the block's offset the slowest part of the channels,
/// or with `offsetLast` the fastest.
Value blocksToChannels(Vjp &vjp, Value value, int64_t block, bool offsetLast) {
  ArrayRef<int64_t> shape = onnx::getStaticShape(value);
  int64_t height = shape[2] / block, width = shape[3] / block;
  Value split =
      vjp.reshape(value, {shape[0], shape[1], height, block, width, block});
  Value moved = offsetLast ? vjp.transpose(split, {0, 1, 3, 5, 2, 4})
                           : vjp.transpose(split, {0, 3, 5, 1, 2, 4});
  return vjp.reshape(moved,
                     {shape[0], shape[1] * block * block, height, width});
}

struct DepthToSpaceRule : MovementRule<DepthToSpaceRule, onnx::DepthToSpaceOp> {
  LogicalResult build(onnx::DepthToSpaceOp op, Vjp &vjp) const {
    vjp.set(0, blocksToChannels(vjp, vjp.cotangent(0), op.getBlocksize(),
                                /*offsetLast=*/op.getMode() == "CRD"));
    return success();
  }
};

struct SpaceToDepthRule : MovementRule<SpaceToDepthRule, onnx::SpaceToDepthOp> {
  LogicalResult build(onnx::SpaceToDepthOp op, Vjp &vjp) const {
    Value g = vjp.cotangent(0);
    ArrayRef<int64_t> shape = onnx::getStaticShape(g);
    int64_t block = op.getBlocksize();
    Value split =
        vjp.reshape(g, {shape[0], block, block, shape[1] / (block * block),
                        shape[2], shape[3]});
    vjp.set(0, vjp.reshape(vjp.transpose(split, {0, 3, 4, 1, 5, 2}),
                           onnx::getStaticShape(op.getInput())));
    return success();
  }
};

} // namespace

void amp::train::attachSpatialRules(MLIRContext *context) {
  onnx::DepthToSpaceOp::attachInterface<DepthToSpaceRule>(*context);
  onnx::ResizeOp::attachInterface<ResizeRule>(*context);
  onnx::SpaceToDepthOp::attachInterface<SpaceToDepthRule>(*context);
}
