//===- OnnxBuilder.h - Builds onnx operations, types inferred -------------===//
//
// What gradient rules and decompositions write graphs with.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_ONNX_UTILS_ONNXBUILDER_H
#define AMP_DIALECT_ONNX_UTILS_ONNXBUILDER_H

#include "amp/Dialect/Onnx/IR/OnnxDialect.h"
#include "mlir/IR/Builders.h"

namespace amp::onnx {

/// The shape of a value of static shape.
llvm::ArrayRef<int64_t> getStaticShape(mlir::Value value);
mlir::Type getElementType(mlir::Value value);
bool isHalf(mlir::Type elementType);

/// Creates onnx operations at the builder's insertion point. Result types come
/// from the operator's inference function; operands that do not fit their
/// operator are a bug of the caller. Shapes must be static where a method says
/// so.
class OnnxBuilder {
public:
  OnnxBuilder(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  mlir::OpBuilder &getBuilder() { return builder; }
  mlir::Location getLoc() const { return loc; }

  /// The operator `name` (ONNX's spelling) with its first `numResults`
  /// results. `inputs` by position, null where absent.
  llvm::SmallVector<mlir::Value>
  createMulti(llvm::StringRef name, llvm::ArrayRef<mlir::Value> inputs,
              unsigned numResults,
              llvm::ArrayRef<mlir::NamedAttribute> attributes = {});
  /// The operator `name` with its first result.
  mlir::Value create(llvm::StringRef name, llvm::ArrayRef<mlir::Value> inputs,
                     llvm::ArrayRef<mlir::NamedAttribute> attributes = {});

  // Attributes.
  mlir::NamedAttribute attr(llvm::StringRef name, int64_t value);
  mlir::NamedAttribute attr(llvm::StringRef name, float value);
  mlir::NamedAttribute attr(llvm::StringRef name, llvm::StringRef value);
  mlir::NamedAttribute attr(llvm::StringRef name,
                            llvm::ArrayRef<int64_t> values);

  // Constants.
  /// A rank-0 constant of an integer, float or bool element type.
  mlir::Value scalar(double value, mlir::Type elementType);
  /// A rank-0 constant of the element type of `like`.
  mlir::Value scalarLike(double value, mlir::Value like);
  /// A 1-d i64 constant.
  mlir::Value ints(llvm::ArrayRef<int64_t> values);
  /// A constant of static shape, every element `value`.
  mlir::Value splat(double value, mlir::RankedTensorType type);
  mlir::Value constant(mlir::ElementsAttr value);

  // Elementwise.
  mlir::Value add(mlir::Value a, mlir::Value b) {
    return create("Add", {a, b});
  }
  mlir::Value sub(mlir::Value a, mlir::Value b) {
    return create("Sub", {a, b});
  }
  mlir::Value mul(mlir::Value a, mlir::Value b) {
    return create("Mul", {a, b});
  }
  mlir::Value div(mlir::Value a, mlir::Value b) {
    return create("Div", {a, b});
  }
  mlir::Value neg(mlir::Value a) { return create("Neg", {a}); }
  mlir::Value unary(llvm::StringRef name, mlir::Value a) {
    return create(name, {a});
  }
  mlir::Value where(mlir::Value condition, mlir::Value a, mlir::Value b) {
    return create("Where", {condition, a, b});
  }
  /// `a` times the number `factor`.
  mlir::Value scale(mlir::Value a, double factor) {
    return factor == 1 ? a : mul(a, scalarLike(factor, a));
  }
  /// `value` as a tensor of `elementType`: an amp.cast between f16, bf16 and
  /// f32, else an onnx.Cast; nothing if it is one already.
  mlir::Value cast(mlir::Value value, mlir::Type elementType);
  /// A half type as float32; the value itself when it is no half.
  mlir::Value widen(mlir::Value value) {
    return isHalf(getElementType(value)) ? cast(value, builder.getF32Type())
                                         : value;
  }

  // Shape. These want static shapes.
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<int64_t> shape);
  mlir::Value transpose(mlir::Value value, llvm::ArrayRef<int64_t> permutation);
  /// Broadcasts to `shape`; nothing if it has it already.
  mlir::Value expand(mlir::Value value, llvm::ArrayRef<int64_t> shape);
  /// Elements [start, end) of each of `axes`, every `steps`-th.
  mlir::Value slice(mlir::Value value, llvm::ArrayRef<int64_t> starts,
                    llvm::ArrayRef<int64_t> ends, llvm::ArrayRef<int64_t> axes,
                    llvm::ArrayRef<int64_t> steps = {});
  /// Adds `before` and `after` zeros around each dimension.
  mlir::Value pad(mlir::Value value, llvm::ArrayRef<int64_t> before,
                  llvm::ArrayRef<int64_t> after);

  // Contraction and reduction.
  mlir::Value matmul(mlir::Value a, mlir::Value b) {
    return create("MatMul", {a, b});
  }
  /// ReduceSum, ReduceMean, ReduceMax, ... over `axes` (empty: nothing).
  mlir::Value reduce(llvm::StringRef name, mlir::Value value,
                     llvm::ArrayRef<int64_t> axes, bool keepDims = true);
  /// Sums `value` back to `shape`, which was broadcast to the shape of
  /// `value`: over extra leading axes and over axes where `shape` is 1 (ONNX
  /// docs/DefineDifferentiability.md). Half types are summed in f32 and
  /// rounded once, to `elementType` (default: that of `value`).
  mlir::Value unbroadcast(mlir::Value value, llvm::ArrayRef<int64_t> shape,
                          mlir::Type elementType = {});

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
};

} // namespace amp::onnx

#endif // AMP_DIALECT_ONNX_UTILS_ONNXBUILDER_H
