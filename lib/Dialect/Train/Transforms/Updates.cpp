//===- Updates.cpp - One parameter's update operation ---------------------===//
//
// State names are those of torch.optim's state_dict.
//
//===----------------------------------------------------------------------===//

#include "Updates.h"

using namespace mlir;
using namespace amp;
using namespace amp::train;

using Kind = OptimizerConfig::Kind;

static SmallVector<StringRef> getStates(const OptimizerConfig &optimizer) {
  switch (optimizer.kind) {
  case Kind::Sgd:
    if (optimizer.momentum == 0)
      return {};
    return {"momentum_buffer"};
  case Kind::Adam:
  case Kind::AdamW:
    if (optimizer.amsgrad)
      return {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"};
    return {"exp_avg", "exp_avg_sq"};
  case Kind::Lion:
    return {"exp_avg"};
  case Kind::Lamb:
    return {"exp_avg", "exp_avg_sq"};
  }
  llvm_unreachable("unknown optimizer");
}

static StringRef getOperationName(Kind kind) {
  switch (kind) {
  case Kind::Sgd:
    return SgdUpdateOp::getOperationName();
  case Kind::Adam:
  case Kind::AdamW:
    return AdamUpdateOp::getOperationName();
  case Kind::Lion:
    return LionUpdateOp::getOperationName();
  case Kind::Lamb:
    return LambUpdateOp::getOperationName();
  }
  llvm_unreachable("unknown optimizer");
}

static NamedAttrList getAttributes(Builder &builder,
                                   const OptimizerConfig &optimizer,
                                   std::optional<double> clipValue,
                                   double weightDecay) {
  NamedAttrList attributes;
  auto setNumber = [&](StringRef name, double value) {
    attributes.set(name, builder.getF64FloatAttr(value));
  };
  auto setFlag = [&](StringRef name, bool value) {
    if (value)
      attributes.set(name, builder.getUnitAttr());
  };
  setNumber("weight_decay", weightDecay);
  setFlag("maximize", optimizer.maximize);
  if (clipValue)
    setNumber("clip_value", *clipValue);
  if (optimizer.kind == Kind::Sgd) {
    setNumber("momentum", optimizer.momentum);
    setNumber("dampening", optimizer.dampening);
    setFlag("nesterov", optimizer.nesterov);
    return attributes;
  }
  setNumber("beta1", optimizer.beta1);
  setNumber("beta2", optimizer.beta2);
  if (optimizer.kind != Kind::Lion)
    setNumber("eps", optimizer.eps);
  setFlag("decoupled", optimizer.kind == Kind::AdamW);
  return attributes;
}

void amp::train::addUpdate(func::FuncOp function,
                           const OptimizerConfig &optimizer,
                           std::optional<double> clipValue, double weightDecay,
                           BlockArgument parameter, Value gradient, Value lr,
                           const UpdateScalars &scalars) {
  auto type = cast<RankedTensorType>(parameter.getType());
  std::string name = getArgumentName(function, parameter.getArgNumber()).str();
  OpBuilder builder(function.front().getTerminator());
  auto zero = DenseElementsAttr::get(
      type, Attribute(builder.getFloatAttr(type.getElementType(), 0)));
  SmallVector<BlockArgument> states{parameter};
  SmallVector<Value> operands{parameter, gradient};
  for (StringRef slot : getStates(optimizer)) {
    states.push_back(addArgument(
        function, type,
        {Role::OptimizerState, (slot + "." + name).str(), name, zero}));
    operands.push_back(states.back());
  }
  operands.append({lr, scalars.multiplier, scalars.step, scalars.apply});
  OperationState state(
      function.getLoc(), getOperationName(optimizer.kind), operands,
      SmallVector<Type>(states.size(), type),
      getAttributes(builder, optimizer, clipValue, weightDecay));
  Operation *update = builder.create(state);
  for (auto [argument, value] : llvm::zip(states, update->getResults()))
    addNextValue(function, argument, value);
}
