//===- ResizeTaps.cpp - What Resize reads for each element ----------------===//
//
// Coordinates and kernels as ONNX's reference has them.
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/Onnx/Utils/ResizeTaps.h"
#include "amp/Dialect/Onnx/Utils/OnnxBuilder.h"
#include "llvm/ADT/Sequence.h"
#include <cmath>

using namespace mlir;
using namespace amp::onnx;

namespace {

using Taps = SmallVector<SmallVector<ResizeTap>>;

struct Axis {
  int64_t axis, inputSize, outputSize;
  double scale, roiStart, roiEnd;
};

class TapBuilder {
public:
  TapBuilder(ResizeOp op, function_ref<InFlightDiagnostic()> emitError)
      : op(op), emitError(emitError), inputs(getPositionalInputs(op)) {
    inputs.resize(4);
  }

  FailureOr<SmallVector<ResizedAxis>> run();

private:
  LogicalResult readAxes();
  LogicalResult readNumbers(unsigned position, SmallVector<double> &numbers);
  FailureOr<double> getCoordinate(const Axis &axis, int64_t output);
  SmallVector<ResizeTap> getTaps(const Axis &axis, double coordinate);
  double getKernel(double distance);
  FailureOr<Taps> getTaps(const Axis &axis);

  ResizeOp op;
  function_ref<InFlightDiagnostic()> emitError;
  SmallVector<Value> inputs;
  SmallVector<Axis> axes;
};

} // namespace

/// The numbers of a constant operand.
LogicalResult TapBuilder::readNumbers(unsigned position,
                                      SmallVector<double> &numbers) {
  Value value = inputs[position];
  if (!value || cast<ShapedType>(value.getType()).getNumElements() == 0)
    return success();
  auto elements = dyn_cast_or_null<DenseElementsAttr>(getConstantValue(value));
  if (!elements)
    return emitError() << "needs constants for its inputs 'roi', 'scales' "
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

LogicalResult TapBuilder::readAxes() {
  ArrayRef<int64_t> from = getStaticShape(op.getX()),
                    to = getStaticShape(op.getY());
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
    int64_t rank = from.size(), axis = listed[i];
    if (axis < -rank || axis >= rank) {
      emitError() << "has the axis " << axis << " of an operand with " << rank
                  << " dimensions";
      return failure();
    }
    axis = axis < 0 ? axis + rank : axis;
    Axis entry{axis, from[axis], to[axis], 1, 0, 1};
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
FailureOr<double> TapBuilder::getCoordinate(const Axis &axis, int64_t output) {
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
    emitError() << "has the coordinate_transformation_mode '" << mode
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
double TapBuilder::getKernel(double distance) {
  double x = std::abs(distance);
  if (op.getMode() == "linear")
    return std::max(0.0, 1 - x);
  double a = op.getCubicCoeffA().convertToFloat();
  if (x <= 1)
    return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

SmallVector<ResizeTap> TapBuilder::getTaps(const Axis &axis,
                                           double coordinate) {
  auto clamp = [&](double index) {
    return int64_t(std::clamp<double>(index, 0, axis.inputSize - 1));
  };
  if (op.getMode() == "nearest")
    return {{clamp(roundToIndex(coordinate, op.getNearestMode())), 1}};
  bool stretches = op.getAntialias() && axis.scale < 1;
  double scale = stretches ? axis.scale : 1;
  double reach = (op.getMode() == "linear" ? 1 : 2) / scale;
  SmallVector<ResizeTap> taps;
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
    for (ResizeTap &tap : taps)
      tap.weight /= sum;
  return taps;
}

FailureOr<Taps> TapBuilder::getTaps(const Axis &axis) {
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

FailureOr<SmallVector<ResizedAxis>> TapBuilder::run() {
  if (failed(readAxes()))
    return failure();
  SmallVector<ResizedAxis> resized;
  for (const Axis &axis : axes) {
    if (axis.inputSize == axis.outputSize && axis.scale == 1 &&
        op.getCoordinateTransformationMode() != "tf_crop_and_resize")
      continue;
    FailureOr<Taps> taps = getTaps(axis);
    if (failed(taps))
      return failure();
    resized.push_back(
        {axis.axis, axis.inputSize, axis.outputSize, std::move(*taps)});
  }
  return resized;
}

FailureOr<SmallVector<ResizedAxis>>
amp::onnx::getResizedAxes(ResizeOp op,
                          function_ref<InFlightDiagnostic()> emitError) {
  return TapBuilder(op, emitError).run();
}
