//===- PartialInts.cpp - Elements of shape arithmetic ---------------------===//
//
// Looks through the operators that move sizes around, so that a static size
// is found beside dynamic ones.
//
//===----------------------------------------------------------------------===//

#include "SmallTensor.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.C.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.GHIJK.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.STUVWXYZ.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace amp::onnx;
using namespace amp::onnx::detail;

namespace {

using PartialList = SmallVector<std::optional<int64_t>>;

/// One question about a value. What it looks at is bounded: folders run often,
/// and paths through shared operands may be many.
class PartialReader {
public:
  std::optional<PartialList> read(Value value);

private:
  std::optional<PartialList> readOp(Operation *op);
  std::optional<PartialList> readConcat(ConcatOp op);
  std::optional<PartialList> readGather(GatherOp op);
  std::optional<PartialList> readSlice(SliceOp op);

  unsigned budget = 64;
};

/// The only element of a constant.
std::optional<int64_t> getSingleInt(Value value) {
  std::optional<SmallTensor> tensor = SmallTensor::get(value);
  return tensor && tensor->elements.size() == 1 ? tensor->getInt(0)
                                                : std::nullopt;
}

std::optional<PartialList> readShape(ShapeOp op) {
  auto type = dyn_cast<RankedTensorType>(op.getData().getType());
  if (!type)
    return std::nullopt;
  int64_t rank = type.getRank();
  std::optional<SliceRange> range =
      clampSlice(rank, op.getStart(), op.getEnd().value_or(rank), /*step=*/1);
  PartialList result;
  for (int64_t i = 0; i < range->count; ++i) {
    int64_t size = type.getDimSize(range->start + i);
    result.push_back(ShapedType::isDynamic(size) ? std::nullopt
                                                 : std::optional(size));
  }
  return result;
}

std::optional<PartialList> PartialReader::readConcat(ConcatOp op) {
  PartialList result;
  for (Value input : op.getInputs()) {
    std::optional<PartialList> part = read(input);
    if (!part)
      return std::nullopt;
    result.append(*part);
  }
  return result;
}

std::optional<PartialList> PartialReader::readGather(GatherOp op) {
  auto type = dyn_cast<RankedTensorType>(op.getData().getType());
  std::optional<SmallTensor> indices = SmallTensor::get(op.getIndices());
  if (!type || type.getRank() != 1 || !indices || indices->shape.size() > 1)
    return std::nullopt;
  std::optional<PartialList> data = read(op.getData());
  std::optional<SmallVector<int64_t>> positions = indices->getInts();
  if (!data || !positions)
    return std::nullopt;
  PartialList result;
  for (int64_t position : *positions) {
    std::optional<int64_t> index = normalizeAxis(position, data->size());
    if (!index)
      return std::nullopt;
    result.push_back((*data)[*index]);
  }
  return result;
}

std::optional<PartialList> PartialReader::readSlice(SliceOp op) {
  std::optional<PartialList> data = read(op.getData());
  std::optional<int64_t> start = getSingleInt(op.getStarts());
  std::optional<int64_t> end = getSingleInt(op.getEnds());
  std::optional<int64_t> step =
      op.getSteps() ? getSingleInt(op.getSteps()) : std::optional<int64_t>(1);
  if (!data || !start || !end || !step)
    return std::nullopt;
  std::optional<SliceRange> range =
      clampSlice(data->size(), *start, *end, *step);
  if (!range)
    return std::nullopt;
  PartialList result;
  for (int64_t i = 0; i < range->count; ++i)
    result.push_back((*data)[range->start + i * range->step]);
  return result;
}

std::optional<PartialList> PartialReader::readOp(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<PartialList>>(op)
      .Case<ShapeOp>(readShape)
      .Case<ConcatOp>([&](auto concat) { return readConcat(concat); })
      .Case<GatherOp>([&](auto gather) { return readGather(gather); })
      .Case<SliceOp>([&](auto slice) { return readSlice(slice); })
      // Between ranks 0 and 1 the elements stay.
      .Case<SqueezeOp, UnsqueezeOp>(
          [&](auto reshape) { return read(reshape->getOperand(0)); })
      .Case<IdentityOp>(
          [&](auto identity) { return read(identity.getInput()); })
      .Default([](auto) { return std::nullopt; });
}

std::optional<PartialList> PartialReader::read(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || type.getRank() > 1 ||
      !type.getElementType().isSignlessInteger(64) || budget == 0)
    return std::nullopt;
  --budget;
  PartialList result;
  if (std::optional<SmallTensor> constant = SmallTensor::get(value)) {
    for (const APInt &element : constant->elements)
      result.push_back(element.getSExtValue());
    return result;
  }
  if (Operation *op = value.getDefiningOp())
    return readOp(op);
  return std::nullopt;
}

} // namespace

std::optional<SmallVector<std::optional<int64_t>>>
amp::onnx::detail::getPartialInts(Value value) {
  return PartialReader().read(value);
}

OpFoldResult amp::onnx::detail::foldPartialInts(Value value) {
  std::optional<PartialList> partial = getPartialInts(value);
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!partial || !type ||
      !llvm::all_of(*partial, [](auto size) { return size.has_value(); }))
    return {};
  SmallTensor tensor{IntegerType::get(value.getContext(), 64), {}, {}};
  if (type.getRank() == 1)
    tensor.shape.push_back(partial->size());
  else if (partial->size() != 1)
    return {};
  for (std::optional<int64_t> size : *partial)
    tensor.elements.push_back(APInt(64, *size, /*isSigned=*/true));
  return tensor.getAs(type);
}
