//===- Constants.cpp - Constants that leave in a narrower type ------------===//
// A constant that is only read through casts to one type needs no wide form.
//===----------------------------------------------------------------------===//

#include "Constants.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.C.h"
#include "amp/Onnx/Proto/Proto.h"

using namespace mlir;
using namespace amp;
using namespace amp::onnx_export;

/// Up to this size a second, narrow copy of a constant is better than a Cast
/// node that computes it.
static constexpr uint64_t maxCopiedBytes = 1024;

ElementsAttr amp::onnx_export::getTensorValue(Operation *constant) {
  if (auto initializer = dyn_cast<amp::onnx::InitializerOp>(constant))
    return initializer.getValue();
  auto op = dyn_cast<amp::onnx::ConstantOp>(constant);
  if (!op)
    return {};
  Type f32 = Float32Type::get(op.getContext());
  if (op.getValueAttr())
    return op.getValueAttr();
  if (FloatAttr number = op.getValueFloatAttr())
    return DenseElementsAttr::get(RankedTensorType::get({}, f32), number);
  if (DenseF32ArrayAttr list = op.getValueFloatsAttr())
    return DenseElementsAttr::get(RankedTensorType::get({list.size()}, f32),
                                  list.asArrayRef());
  return {};
}

static Narrowing describe(CastOp cast) {
  return {cast.getType().getElementType(),
          cast.getClamp() ? HalfRange::Clamp : HalfRange::Round};
}

static bool operator==(const Narrowing &a, const Narrowing &b) {
  return a.elementType == b.elementType && a.range == b.range;
}

/// Decides for all casts of one constant.
void ConstantPlan::decide(Operation *constant) {
  SmallVector<CastOp> casts;
  bool onlyCasts = true;
  for (Operation *user : constant->getUsers()) {
    auto cast = dyn_cast<CastOp>(user);
    if (cast)
      casts.push_back(cast);
    onlyCasts &= cast && describe(cast) == describe(casts.front());
  }
  ElementsAttr value = getTensorValue(constant);
  bool isFloat = value && value.getElementType().isF32() &&
                 llvm::all_of(casts, [](CastOp cast) {
                   return !cast.getType().getElementType().isF32();
                 });
  bool isSmall =
      isFloat && proto::getRawSize(value.getShapedType()) <= maxCopiedBytes;
  for (CastOp cast : casts) {
    CastForm form = CastForm::Node;
    if (isFloat && onlyCasts)
      form = CastForm::Merged;
    else if (isFloat && (isSmall || cast.getClamp()))
      form = CastForm::Copy;
    forms[cast] = form;
  }
  if (isFloat && onlyCasts)
    narrowed[constant] = describe(casts.front());
}

void ConstantPlan::build(func::FuncOp function) {
  function.walk([&](CastOp cast) {
    Operation *source = cast.getInput().getDefiningOp();
    if (isa_and_nonnull<amp::onnx::InitializerOp, amp::onnx::ConstantOp>(
            source) &&
        !forms.count(cast))
      decide(source);
  });
}

Type ConstantPlan::getType(Value value) const {
  Operation *op = value.getDefiningOp();
  const Narrowing *narrowing = op ? getNarrowing(op) : nullptr;
  if (!narrowing)
    return value.getType();
  return amp::onnx::withElementType(value.getType(), narrowing->elementType);
}
