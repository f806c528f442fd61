//===- Resize.cpp - Decomposition of Resize -------------------------------===//
//
// Axis by axis: which elements an output reads, and with which weights, is
// known when the shapes are; what is left is Gather, Mul and Add.
//
//===----------------------------------------------------------------------===//

#include "Decomposition.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.R.h"
#include <cmath>

using namespace mlir;
using namespace amp::onnx;

namespace {

/// One input element that an output element reads.
struct Tap {
  int64_t index;
  double weight;
};

/// The taps of each output element along one axis; none: it is extrapolated.
using Taps = SmallVector<SmallVector<Tap>>;

struct Axis {
  int64_t axis, inputSize, outputSize;
  double scale, roiStart, roiEnd;
};

class ResizeBuilder {
public:
  ResizeBuilder(ResizeOp op, Decomposition &d) : op(op), d(d) {}

  LogicalResult build();

private:
  LogicalResult readAxes();
  LogicalResult readNumbers(unsigned position, SmallVector<double> &numbers);
  FailureOr<double> getCoordinate(const Axis &axis, int64_t output);
  SmallVector<Tap> getTaps(const Axis &axis, double coordinate);
  double getKernel(double distance);
  FailureOr<Taps> getTaps(const Axis &axis);
  Value apply(const Axis &axis, const Taps &taps, Value value);

  ResizeOp op;
  Decomposition &d;
  SmallVector<Axis> axes;
};

} // namespace

/// The numbers of a constant operand.
LogicalResult ResizeBuilder::readNumbers(unsigned position,
                                         SmallVector<double> &numbers) {
  Value value = d.input(position);
  if (!value || cast<ShapedType>(value.getType()).getNumElements() == 0)
    return success();
  auto elements = dyn_cast_or_null<DenseElementsAttr>(getConstantValue(value));
  if (!elements)
    return d.emitError() << "needs constants for its inputs 'roi', 'scales' "
                            "and 'sizes'";
  if (isa<IntegerType>(elements.getElementType()))
    for (const APInt &element : elements.getValues<APInt>())
      numbers.push_back(element.getSExtValue());
  else
    for (APFloat element : elements.getValues<APFloat>()) {
      bool loses;
      element.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                      &loses);
      numbers.push_back(element.convertToDouble());
    }
  return success();
}

LogicalResult ResizeBuilder::readAxes() {
  ArrayRef<int64_t> from = getStaticShape(d.input(0)), to = d.resultShape(0);
  SmallVector<int64_t> listed =
      llvm::to_vector(llvm::seq<int64_t>(0, from.size()));
  if (std::optional<ArrayRef<int64_t>> given = op.getAxes())
    listed.assign(given->begin(), given->end());
  SmallVector<double> roi, scales, sizes;
  if (failed(readNumbers(1, roi)) || failed(readNumbers(2, scales)) ||
      failed(readNumbers(3, sizes)))
    return failure();
  size_t count = listed.size();
  bool keepsAspect = op.getKeepAspectRatioPolicy() != "stretch";
  double common = op.getKeepAspectRatioPolicy() == "not_larger"
                      ? std::numeric_limits<double>::infinity()
                      : 0;
  for (size_t i = 0; i < count && sizes.size() == count; ++i) {
    double scale = sizes[i] / from[listed[i]];
    common = op.getKeepAspectRatioPolicy() == "not_larger"
                 ? std::min(common, scale)
                 : std::max(common, scale);
  }
  for (size_t i = 0; i < count; ++i) {
    FailureOr<int64_t> axis = d.axisOf(listed[i], from.size());
    if (failed(axis))
      return failure();
    Axis entry{*axis, from[*axis], to[*axis], 1, 0, 1};
    if (scales.size() == count)
      entry.scale = scales[i];
    else
      entry.scale = keepsAspect ? common : sizes[i] / entry.inputSize;
    if (roi.size() == 2 * count) {
      entry.roiStart = roi[i];
      entry.roiEnd = roi[count + i];
    }
    axes.push_back(entry);
  }
  return success();
}

/// Where output element `output` lies among the input's elements.
FailureOr<double> ResizeBuilder::getCoordinate(const Axis &axis,
                                               int64_t output) {
  StringRef mode = op.getCoordinateTransformationMode();
  double x = output, size = axis.scale * axis.inputSize;
  double last = axis.inputSize - 1, center = axis.inputSize / 2.0;
  double halfPixel = (x + 0.5) / axis.scale - 0.5;
  if (mode == "half_pixel")
    return halfPixel;
  if (mode == "pytorch_half_pixel")
    return size == 1 ? -0.5 : halfPixel;
  if (mode == "half_pixel_symmetric")
    return center * (1 - axis.outputSize / size) + halfPixel;
  if (mode == "asymmetric")
    return x / axis.scale;
  if (mode == "align_corners")
    return size == 1 ? 0 : x * last / (size - 1);
  if (mode != "tf_crop_and_resize") {
    d.emitError() << "has the coordinate_transformation_mode '" << mode
                  << "', which is not defined";
    return failure();
  }
  double extent = (axis.roiEnd - axis.roiStart) * last;
  double offset = size == 1 ? extent / 2 : x * extent / (size - 1);
  return offset + axis.roiStart * last;
}

static double roundToIndex(double x, StringRef mode) {
  if (mode == "floor")
    return std::floor(x);
  if (mode == "ceil")
    return std::ceil(x);
  if (mode == "round_prefer_ceil")
    return std::floor(x + 0.5);
  return std::ceil(x - 0.5);
}

/// The weight of an element at `distance`, in (stretched) elements.
double ResizeBuilder::getKernel(double distance) {
  double x = std::abs(distance);
  if (op.getMode() == "linear")
    return std::max(0.0, 1 - x);
  double a = op.getCubicCoeffA().convertToFloat();
  if (x <= 1)
    return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

SmallVector<Tap> ResizeBuilder::getTaps(const Axis &axis,
                                        double coordinate) {
  auto clamp = [&](double index) {
    return int64_t(std::clamp<double>(index, 0, axis.inputSize - 1));
  };
  if (op.getMode() == "nearest")
    return {{clamp(roundToIndex(coordinate, op.getNearestMode())), 1}};
  bool stretches = op.getAntialias() && axis.scale < 1;
  double scale = stretches ? axis.scale : 1;
  double reach = (op.getMode() == "linear" ? 1 : 2) / scale;
  SmallVector<Tap> taps;
  double sum = 0;
  for (double i = std::floor(coordinate - reach) + 1; i < coordinate + reach;
       ++i) {
    double weight = getKernel((i - coordinate) * scale);
    bool isOutside = i < 0 || i >= axis.inputSize;
    if (weight == 0 || (isOutside && op.getExcludeOutside()))
      continue;
    taps.push_back({clamp(i), weight});
    sum += weight;
  }
  if (stretches || op.getExcludeOutside())
    for (Tap &tap : taps)
      tap.weight /= sum;
  return taps;
}

FailureOr<Taps> ResizeBuilder::getTaps(const Axis &axis) {
  bool extrapolates =
      op.getCoordinateTransformationMode() == "tf_crop_and_resize";
  Taps taps;
  for (int64_t i = 0; i < axis.outputSize; ++i) {
    FailureOr<double> coordinate = getCoordinate(axis, i);
    if (failed(coordinate))
      return failure();
    if (extrapolates && (*coordinate < 0 || *coordinate > axis.inputSize - 1))
      taps.emplace_back();
    else
      taps.push_back(getTaps(axis, *coordinate));
  }
  return taps;
}

/// Sum over the taps of Gather(value, indices) times weights.
Value ResizeBuilder::apply(const Axis &axis, const Taps &taps, Value value) {
  Type element = getElementType(value);
  int64_t rank = getStaticShape(value).size(), count = taps.size();
  size_t most = 1;
  for (ArrayRef<Tap> list : taps)
    most = std::max(most, list.size());
  auto alongAxis = [&](Value vector) {
    return d.alongAxis(vector, axis.axis, rank);
  };
  Value sum;
  for (size_t k = 0; k < most; ++k) {
    SmallVector<int64_t> indices;
    SmallVector<double> weights;
    for (ArrayRef<Tap> list : taps) {
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
  for (ArrayRef<Tap> list : taps)
    isInside.push_back(!list.empty());
  auto type = RankedTensorType::get({count}, d.getBuilder().getI1Type());
  Value inside = alongAxis(d.constant(DenseElementsAttr::get(type, isInside)));
  return d.where(
      inside, sum,
      d.scalarLike(op.getExtrapolationValue().convertToFloat(), sum));
}

LogicalResult ResizeBuilder::build() {
  bool isNearest = op.getMode() == "nearest";
  Value value = isNearest ? d.input(0) : d.wide(0);
  if (!isNearest && !isa<FloatType>(getElementType(value)))
    return success();
  if (failed(readAxes()))
    return failure();
  for (const Axis &axis : axes) {
    if (axis.inputSize == axis.outputSize && axis.scale == 1 &&
        op.getCoordinateTransformationMode() != "tf_crop_and_resize")
      continue;
    FailureOr<Taps> taps = getTaps(axis);
    if (failed(taps))
      return failure();
    value = apply(axis, *taps, value);
  }
  d.set(0, value);
  return success();
}

static LogicalResult decomposeResize(ResizeOp op, Decomposition &d) {
  return ResizeBuilder(op, d).build();
}

void amp::onnx::addResizeRules(RuleTable &table) { table.add(decomposeResize); }
