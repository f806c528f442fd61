//===- RetargetResults.cpp - Ops that name the type of their result -------===//
//
// Makes such an op give another type, where that rounds as a cast would.
//
//===----------------------------------------------------------------------===//

#include "RetargetResults.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.AB.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.C.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace amp;

static IntegerAttr getDataTypeAttr(Type type) {
  return IntegerAttr::get(IntegerType::get(type.getContext(), 64),
                          onnx::getDataType(type));
}

/// Whether source -> float32 -> target rounds as source -> target does: float32
/// holds the source exactly, or where it rounds, the target has overflowed.
static bool isCastThroughFloat32Exact(Type source, Type target) {
  if (auto integer = dyn_cast<IntegerType>(source))
    return integer.getWidth() <= 16 || isa<Float16Type>(target);
  return isa<Float16Type, BFloat16Type, Float32Type>(source);
}

static LogicalResult retarget(onnx::CastOp op, Type elementType) {
  Type source = onnx::getTensorElementType(op.getInput().getType());
  if (!onnx::getTensorElementType(op.getType()).isF32() ||
      !isCastThroughFloat32Exact(source, elementType))
    return failure();
  op.setToAttr(getDataTypeAttr(elementType));
  return success();
}

/// The one element of `value` rounded to `elementType`.
static LogicalResult retarget(onnx::ConstantOfShapeOp op, Type elementType) {
  auto type = RankedTensorType::get({1}, elementType);
  auto &semantics = cast<FloatType>(elementType).getFloatSemantics();
  APFloat element = APFloat::getZero(semantics);
  if (ElementsAttr value = op.getValueAttr()) {
    auto dense = dyn_cast<DenseFPElementsAttr>(value);
    if (!dense || dense.getNumElements() != 1)
      return failure();
    bool losesInfo;
    element = *dense.value_begin<APFloat>();
    element.convert(semantics, APFloat::rmNearestTiesToEven, &losesInfo);
  }
  op.setValueAttr(DenseElementsAttr::get(type, element));
  return success();
}

LogicalResult amp::retargetResult(Operation *op, Type elementType) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<onnx::CastOp, onnx::ConstantOfShapeOp>(
          [&](auto typed) { return retarget(typed, elementType); })
      // Zeros and ones only, which are exact in every type. (So are EyeLike's,
      // but ONNX Runtime has no half kernel for it.)
      .Case<onnx::BernoulliOp>([&](onnx::BernoulliOp typed) {
        typed.setDtypeAttr(getDataTypeAttr(elementType));
        return success();
      })
      .Default([](Operation *) { return failure(); });
}

void amp::keepFloat32Inside(Operation *op) {
  auto attention = dyn_cast<onnx::AttentionOp>(op);
  if (!attention || attention.getSoftmaxPrecisionAttr())
    return;
  attention.setSoftmaxPrecisionAttr(
      getDataTypeAttr(Float32Type::get(op->getContext())));
}
