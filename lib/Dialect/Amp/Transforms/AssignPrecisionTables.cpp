//===- AssignPrecisionTables.cpp - What tables and regions say of an op ---===//
//
// Loads policies once, makes scopes, and joins row, facts and schema.
//
//===----------------------------------------------------------------------===//

#include "AssignPrecisionTables.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace amp;
using namespace amp::assign;

Kind amp::assign::getKind(Type type) {
  auto tensor = dyn_cast<TensorType>(type);
  if (!tensor)
    return Kind::Other;
  Type element = tensor.getElementType();
  if (element.isF32())
    return Kind::F32;
  if (element.isF16())
    return Kind::F16;
  return element.isBF16() ? Kind::BF16 : Kind::Other;
}

std::optional<Kind> amp::assign::parseKind(StringRef word) {
  return llvm::StringSwitch<std::optional<Kind>>(word)
      .Case("f32", Kind::F32)
      .Case("f16", Kind::F16)
      .Case("bf16", Kind::BF16)
      .Default(std::nullopt);
}

StringRef amp::assign::stringifyKind(Kind kind) {
  return kind == Kind::F16 ? "f16" : kind == Kind::BF16 ? "bf16" : "f32";
}

VarSet OpInfo::decided(OpClass opClass) const {
  bool follows = opClass == OpClass::Follow || opClass == OpClass::Move;
  return (follows ? followed : VarSet(~0)) & ~held;
}

/// The schema's part of `info`.
static void addSchemaFacts(OpInfo &info, MLIRContext *context) {
  const onnx::OpSpec &spec = *info.spec;
  Type f16 = RankedTensorType::get({}, Float16Type::get(context));
  Type bf16 = RankedTensorType::get({}, BFloat16Type::get(context));
  auto add = [&](const onnx::FormalSpec &formal) {
    if (formal.typeVar < 0)
      return;
    VarSet bit = 1u << formal.typeVar;
    if (onnx::isInTypeSet(f16, formal.typeSet))
      info.legalF16 |= bit;
    if (onnx::isInTypeSet(bf16, formal.typeSet))
      info.legalBF16 |= bit;
  };
  for (auto [position, formal] : llvm::enumerate(spec.inputs)) {
    add(formal);
    if (formal.typeVar >= 0 && info.fact->isFixedSlot(position))
      info.held |= 1u << formal.typeVar;
  }
  for (const onnx::FormalSpec &formal : spec.outputs)
    add(formal);
  if (!spec.inputs.empty())
    info.primaryVar =
        spec.inputs[onnx::getFormalOfPosition(spec.inputs, info.fact->primary)]
            .typeVar;
  else if (!spec.outputs.empty())
    info.primaryVar = spec.outputs.front().typeVar;
  if (info.primaryVar >= 0)
    info.followed |= 1u << info.primaryVar;
  if (info.fact->resultFollows && spec.outputs.front().typeVar >= 0)
    info.followed |= 1u << spec.outputs.front().typeVar;
  for (unsigned slot : info.fact->tiedSlots)
    if (slot < spec.inputs.size() && spec.inputs[slot].typeVar >= 0)
      info.followed |= 1u << spec.inputs[slot].typeVar;
}

/// The row of an op where autocast is off: no op is narrow or wide there.
static Row getPromotingRow(Row row) {
  row.cases = {};
  if (row.opClass == OpClass::Narrow || row.opClass == OpClass::Wide)
    row.opClass = OpClass::Promote;
  return row;
}

const OpInfo &Tables::getInfo(Operation *op, Scope &scope) {
  std::unique_ptr<OpInfo> &info = scope.infos[op->getName()];
  if (info)
    return *info;
  info = std::make_unique<OpInfo>();
  info->spec = &cast<onnx::SchemaOpInterface>(op).getSpec();
  info->fact = &facts.lookup(info->spec->name);
  if (scope.enabled)
    info->row = scope.policy->lookup(info->spec->name, scope.half == Kind::F16
                                                           ? HalfType::F16
                                                           : HalfType::BF16);
  if (scope.promotes && info->row)
    info->row = getPromotingRow(std::move(*info->row));
  addSchemaFacts(*info, op->getContext());
  return *info;
}

llvm::Expected<const Policy *> Tables::getPolicy(StringRef nameOrPath) {
  std::unique_ptr<Policy> &policy = policies[nameOrPath];
  if (policy)
    return policy.get();
  llvm::Expected<Policy> loaded = Policy::load(nameOrPath);
  if (!loaded)
    return loaded.takeError();
  for (const std::string &op : options.allow)
    if (llvm::Error error = loaded->allow(op))
      return std::move(error);
  for (const std::string &op : options.deny)
    if (llvm::Error error = loaded->deny(op))
      return std::move(error);
  policy = std::make_unique<Policy>(std::move(*loaded));
  return policy.get();
}

llvm::Expected<Scope *> Tables::getOutermost() {
  auto scope = std::make_unique<Scope>();
  llvm::Expected<const Policy *> policy = getPolicy(options.policy);
  if (!policy)
    return policy.takeError();
  scope->policy = *policy;
  scope->half = options.dtype;
  scope->enabled = isHalf(options.dtype);
  scopes.push_back(std::move(scope));
  return scopes.back().get();
}

FailureOr<Scope *> Tables::getScope(AutocastOp region, const Scope &outer) {
  auto scope = std::make_unique<Scope>();
  scope->enabled = region.getEnabled();
  scope->half = outer.half;
  scope->policy = outer.policy;
  if (std::optional<Type> dtype = region.getDtype())
    scope->half = dtype->isF16() ? Kind::F16 : Kind::BF16;
  if (scope->enabled && !isHalf(scope->half)) {
    region.emitError("expects a dtype, on this region, on one around it or as "
                     "an option of the pass");
    return failure();
  }
  if (std::optional<StringRef> name = region.getPolicy()) {
    llvm::Expected<const Policy *> policy = getPolicy(*name);
    if (!policy) {
      region.emitError(llvm::toString(policy.takeError()));
      return failure();
    }
    scope->policy = *policy;
  }
  bool castsAround = outer.enabled || outer.promotes;
  if (!scope->enabled && castsAround && scope->isProgramOrder())
    scope->enabled = scope->promotes = true;
  scopes.push_back(std::move(scope));
  return scopes.back().get();
}
