//===- Resize.cpp - Decomposition of Resize -------------------------------===//
//
// Axis by axis: which elements an output reads, and with which weights, is
// known when the shapes are; what is left is Gather, Mul and Add.
//
//===----------------------------------------------------------------------===//

#include "Decomposition.h"
#include "amp/Dialect/Onnx/Utils/ResizeTaps.h"

using namespace mlir;
using namespace amp::onnx;

/// Sum over the taps of Gather(value, indices) times weights.
static Value apply(Decomposition &d, ResizeOp op, const ResizedAxis &axis,
                   Value value) {
  auto &taps = axis.taps;
  Type element = getElementType(value);
  int64_t rank = getStaticShape(value).size(), count = taps.size();
  size_t most = 1;
  for (ArrayRef<ResizeTap> list : taps)
    most = std::max(most, list.size());
  auto alongAxis = [&](Value vector) {
    return d.alongAxis(vector, axis.axis, rank);
  };
  Value sum;
  for (size_t k = 0; k < most; ++k) {
    SmallVector<int64_t> indices;
    SmallVector<double> weights;
    for (ArrayRef<ResizeTap> list : taps) {
      indices.push_back(k < list.size() ? list[k].index : 0);
      weights.push_back(k < list.size() ? list[k].weight : 0);
    }
    Value part =
        d.create("Gather", {value, d.ints(indices)}, d.attr("axis", axis.axis));
    if (op.getMode() != "nearest") {
      SmallVector<Attribute> numbers;
      for (double weight : weights)
        numbers.push_back(FloatAttr::get(element, weight));
      auto type = RankedTensorType::get({count}, element);
      part = d.mul(
          part, alongAxis(d.constant(DenseElementsAttr::get(type, numbers))));
    }
    sum = sum ? d.add(sum, part) : part;
  }
  if (llvm::none_of(taps, [](auto &list) { return list.empty(); }))
    return sum;
  SmallVector<bool> isInside;
  for (ArrayRef<ResizeTap> list : taps)
    isInside.push_back(!list.empty());
  auto type = RankedTensorType::get({count}, d.getBuilder().getI1Type());
  Value inside = alongAxis(d.constant(DenseElementsAttr::get(type, isInside)));
  return d.where(
      inside, sum,
      d.scalarLike(op.getExtrapolationValue().convertToFloat(), sum));
}

static LogicalResult decomposeResize(ResizeOp op, Decomposition &d) {
  bool isNearest = op.getMode() == "nearest";
  Value value = isNearest ? d.input(0) : d.wide(0);
  if (!isNearest && !isa<FloatType>(getElementType(value)))
    return success();
  FailureOr<SmallVector<ResizedAxis>> axes =
      getResizedAxes(op, [&] { return d.emitError(); });
  if (failed(axes))
    return failure();
  for (const ResizedAxis &axis : *axes)
    value = apply(d, op, axis, value);
  d.set(0, value);
  return success();
}

void amp::onnx::addResizeRules(RuleTable &table) { table.add(decomposeResize); }
