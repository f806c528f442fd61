//===- RecurrentActivations.cpp - Activations of recurrent layers ---------===//
//
// By the names that LSTM, GRU and RNN take, with ONNX's default parameters.
//
//===----------------------------------------------------------------------===//

#include "Recurrent.h"

using namespace mlir;
using namespace amp::onnx;

namespace {

using Apply = Value (*)(Decomposition &, Value, double alpha, double beta);

struct Row {
  StringLiteral name;
  /// How many of alpha and beta it takes.
  unsigned numParameters;
  double alpha, beta;
  Apply apply;
};

Value whereNegative(Decomposition &d, Value x, Value negative) {
  return d.where(d.less(x, 0), negative, x);
}

const Row rows[] = {
    {"Affine", 2, 1, 0,
     [](Decomposition &d, Value x, double alpha, double beta) {
       return d.addScalar(d.scale(x, alpha), beta);
     }},
    {"Elu", 1, 1, 0,
     [](Decomposition &d, Value x, double alpha, double) {
       return whereNegative(d, x, d.scale(d.expMinusOne(x), alpha));
     }},
    {"HardSigmoid", 2, 0.2, 0.5,
     [](Decomposition &d, Value x, double alpha, double beta) {
       return d.clamp(d.addScalar(d.scale(x, alpha), beta), 0, 1);
     }},
    {"LeakyRelu", 1, 0.01, 0,
     [](Decomposition &d, Value x, double alpha, double) {
       return whereNegative(d, x, d.scale(x, alpha));
     }},
    {"Relu", 0, 0, 0,
     [](Decomposition &d, Value x, double, double) {
       return d.unary("Relu", x);
     }},
    {"ScaledTanh", 2, 1, 1,
     [](Decomposition &d, Value x, double alpha, double beta) {
       return d.scale(d.unary("Tanh", d.scale(x, beta)), alpha);
     }},
    {"Sigmoid", 0, 0, 0,
     [](Decomposition &d, Value x, double, double) {
       return d.unary("Sigmoid", x);
     }},
    {"Softplus", 0, 0, 0,
     [](Decomposition &d, Value x, double, double) { return d.softplus(x); }},
    {"Softsign", 0, 0, 0,
     [](Decomposition &d, Value x, double, double) {
       return d.div(x, d.addScalar(d.unary("Abs", x), 1));
     }},
    {"Tanh", 0, 0, 0,
     [](Decomposition &d, Value x, double, double) {
       return d.unary("Tanh", x);
     }},
    {"ThresholdedRelu", 1, 1, 0,
     [](Decomposition &d, Value x, double alpha, double) {
       return d.where(d.greater(x, alpha), x, d.scalarLike(0, x));
     }},
};

const Row *findRow(StringRef name) {
  for (const Row &row : rows)
    if (name.equals_insensitive(row.name))
      return &row;
  return nullptr;
}

} // namespace

std::optional<RecurrentActivation> amp::onnx::getActivation(StringRef name) {
  const Row *row = findRow(name);
  if (!row)
    return std::nullopt;
  return RecurrentActivation{row->name, row->alpha, row->beta};
}

Value amp::onnx::applyActivation(Decomposition &d,
                                 const RecurrentActivation &activation,
                                 Value x) {
  return findRow(activation.name)
      ->apply(d, x, activation.alpha, activation.beta);
}

LogicalResult RecurrentLayer::setActivations(
    ArrayRef<StringRef> names, std::optional<ArrayRef<float>> alphas,
    std::optional<ArrayRef<float>> betas, unsigned perDirection) {
  activationsPerDirection = perDirection;
  // Parameters are listed for the functions that take any, in their order.
  auto take = [](std::optional<ArrayRef<float>> &list, double &value) {
    if (!list || list->empty())
      return;
    value = list->front();
    list = list->drop_front();
  };
  for (StringRef name : names) {
    std::optional<RecurrentActivation> activation = getActivation(name);
    if (!activation)
      return d.emitError() << "has the activation '" << name
                           << "', which is not defined";
    unsigned count = findRow(activation->name)->numParameters;
    if (count > 0)
      take(alphas, activation->alpha);
    if (count > 1)
      take(betas, activation->beta);
    activations.push_back(*activation);
  }
  return success();
}
