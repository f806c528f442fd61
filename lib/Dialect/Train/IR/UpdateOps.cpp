//===- UpdateOps.cpp - Verifiers of the update operations -----------------===//
//
// Ranges of hyper-parameters, and states that fit their parameter.
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/Train/IR/TrainDialect.h"
#include <cmath>

using namespace mlir;
using namespace amp::train;

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

static LogicalResult verifyNotNegative(Operation *op, StringRef name,
                                       APFloat number) {
  double value = number.convertToDouble();
  if (std::isfinite(value) && value >= 0)
    return success();
  return op->emitOpError() << "expects '" << name
                           << "' to be a finite number of at least 0, but got "
                           << value;
}

static LogicalResult verifyPositive(Operation *op, StringRef name,
                                    std::optional<APFloat> number) {
  if (!number)
    return success();
  double value = number->convertToDouble();
  if (std::isfinite(value) && value > 0)
    return success();
  return op->emitOpError() << "expects '" << name
                           << "' to be a finite number above 0, but got "
                           << value;
}

/// Decay rates of running means.
static LogicalResult verifyBeta(Operation *op, StringRef name, APFloat number) {
  double value = number.convertToDouble();
  if (value >= 0 && value < 1)
    return success();
  return op->emitOpError() << "expects '" << name
                           << "' to be at least 0 and below 1, but got "
                           << value;
}

//===----------------------------------------------------------------------===//
// Loss scaling
//===----------------------------------------------------------------------===//

LogicalResult CheckGradientsOp::verify() {
  if (getGradients().empty())
    return emitOpError() << "expects at least one gradient";
  if (!getFoundIn().empty() && getFoundIn().size() != getGradients().size())
    return emitOpError() << "expects a flag for each of "
                         << getGradients().size() << " gradients, but has "
                         << getFoundIn().size();
  return success();
}

LogicalResult GradientMultiplierOp::verify() {
  return verifyPositive(*this, "max_norm", getMaxNorm());
}

LogicalResult UpdateScaleOp::verify() {
  double growth = getGrowthFactor().convertToDouble();
  if (!std::isfinite(growth) || growth < 1)
    return emitOpError() << "expects 'growth_factor' of at least 1, but got "
                         << growth;
  double backoff = getBackoffFactor().convertToDouble();
  if (!(backoff > 0 && backoff <= 1))
    return emitOpError()
           << "expects 'backoff_factor' above 0 and at most 1, but got "
           << backoff;
  if (getGrowthInterval() < 1 || getGrowthInterval() > INT32_MAX)
    return emitOpError() << "expects 'growth_interval' between 1 and "
                         << INT32_MAX << ", but got " << getGrowthInterval();
  if (getHysteresis() < 1 || getHysteresis() > INT32_MAX)
    return emitOpError() << "expects 'hysteresis' between 1 and " << INT32_MAX
                         << ", but got " << getHysteresis();
  if (failed(verifyPositive(*this, "min_scale", getMinScale())) ||
      failed(verifyPositive(*this, "max_scale", getMaxScale())))
    return failure();
  if (getMinScale() && getMaxScale() && *getMinScale() > *getMaxScale())
    return emitOpError() << "expects 'min_scale' to be at most 'max_scale'";
  return success();
}

//===----------------------------------------------------------------------===//
// Optimizers
//===----------------------------------------------------------------------===//

/// Each state, old and new, has the parameter's type.
template <typename Op>
static LogicalResult verifyUpdate(Op op, ValueRange states,
                                  ValueRange newStates) {
  Type type = op.getParameter().getType();
  for (Value state :
       llvm::concat<Value>(llvm::to_vector(states), llvm::to_vector(newStates)))
    if (state && state.getType() != type)
      return op.emitOpError() << "expects states of the parameter's type "
                              << type << ", but got " << state.getType();
  if (failed(verifyNotNegative(op, "weight_decay", op.getWeightDecay())))
    return failure();
  return verifyPositive(op, "clip_value", op.getClipValue());
}

LogicalResult SgdUpdateOp::verify() {
  bool hasMomentum = !getMomentum().isZero();
  if (hasMomentum != static_cast<bool>(getMomentumBuffer()) ||
      hasMomentum != static_cast<bool>(getNewMomentumBuffer()))
    return emitOpError() << "expects a momentum buffer, old and new, exactly "
                            "if 'momentum' is not 0";
  if (getNesterov() && (!hasMomentum || !getDampening().isZero()))
    return emitOpError()
           << "with 'nesterov' expects a momentum and no dampening";
  if (failed(verifyNotNegative(*this, "momentum", getMomentum())))
    return failure();
  return verifyUpdate(*this, {getMomentumBuffer()}, {getNewMomentumBuffer()});
}

LogicalResult AdamUpdateOp::verify() {
  if (static_cast<bool>(getMaxExpAvgSq()) !=
      static_cast<bool>(getNewMaxExpAvgSq()))
    return emitOpError()
           << "expects a largest second moment both old and new, or neither";
  if (failed(verifyBeta(*this, "beta1", getBeta1())) ||
      failed(verifyBeta(*this, "beta2", getBeta2())) ||
      failed(verifyNotNegative(*this, "eps", getEps())))
    return failure();
  return verifyUpdate(*this, {getExpAvg(), getExpAvgSq(), getMaxExpAvgSq()},
                      {getNewExpAvg(), getNewExpAvgSq(), getNewMaxExpAvgSq()});
}

LogicalResult LionUpdateOp::verify() {
  if (failed(verifyBeta(*this, "beta1", getBeta1())) ||
      failed(verifyBeta(*this, "beta2", getBeta2())))
    return failure();
  return verifyUpdate(*this, {getExpAvg()}, {getNewExpAvg()});
}

LogicalResult LambUpdateOp::verify() {
  if (failed(verifyBeta(*this, "beta1", getBeta1())) ||
      failed(verifyBeta(*this, "beta2", getBeta2())) ||
      failed(verifyNotNegative(*this, "eps", getEps())))
    return failure();
  return verifyUpdate(*this, {getExpAvg(), getExpAvgSq()},
                      {getNewExpAvg(), getNewExpAvgSq()});
}
