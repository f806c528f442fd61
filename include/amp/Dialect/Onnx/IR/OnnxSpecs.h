//===- OnnxSpecs.h - Operator schemas as tables ---------------------------===//
//
// The facts of every ai.onnx operator at the pinned opset, for code that treats operators alike.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_ONNX_IR_ONNXSPECS_H
#define AMP_DIALECT_ONNX_IR_ONNXSPECS_H

#include "mlir/IR/Types.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <optional>

namespace amp::onnx {

/// The opset the dialect's operators are defined at.
inline constexpr int64_t pinnedOpset = 26;

enum class FormalKind : uint8_t { Single, Optional, Variadic };

/// Kinds of attributes, named as in `AttributeProto.AttributeType`.
enum class AttrKind : uint8_t { INT, INTS, FLOAT, FLOATS, STRING, STRINGS, TENSOR, SPARSE_TENSOR, TYPE_PROTO, GRAPH };

/// A formal input or output. `typeVar` indexes `OpSpec::typeVars` (-1: a fixed type, or values that may differ); `typeSet` is
/// the number of its set of allowed types.
struct FormalSpec {
  llvm::StringLiteral name;
  FormalKind kind;
  int8_t typeVar;
  uint8_t typeSet;
  uint8_t minArity;
};

/// An attribute: `name` as ONNX spells it, `odsName` as the operation does.
struct AttrSpec {
  llvm::StringLiteral name;
  llvm::StringLiteral odsName;
  AttrKind kind;
  bool required;
};

struct OpSpec {
  llvm::StringLiteral name;
  llvm::StringLiteral operationName;
  int since;
  llvm::ArrayRef<FormalSpec> inputs;
  llvm::ArrayRef<FormalSpec> outputs;
  llvm::ArrayRef<AttrSpec> attributes;
  llvm::ArrayRef<llvm::StringLiteral> typeVars;
  /// Names of the graph attributes, in the order of the operation's regions.
  llvm::ArrayRef<llvm::StringLiteral> regions;
  /// More than one optional or variadic formal: the operation keeps segment sizes.
  bool sizedInputs;
  bool sizedOutputs;
  /// The specification gives a function body.
  bool hasFunction;
};

/// All operators, sorted by name.
llvm::ArrayRef<OpSpec> getOpSpecs();

/// The operator called `name` (ONNX's spelling, without dialect prefix), or null.
const OpSpec *lookupSpec(llvm::StringRef name);

/// The ONNX name of an element type ("float16"), or empty when ONNX has none for it.
llvm::StringRef getElementTypeName(mlir::Type elementType);

/// The `TensorProto.DataType` of bool, i32, i64, f16, bf16, f32 or f64, as the attribute `to` of Cast takes it; 0 for others.
int64_t getDataType(mlir::Type elementType);

/// The element type of a tensor type, or of the tensors in a sequence or optional type; null for other types.
mlir::Type getTensorElementType(mlir::Type type);

/// Whether `type` is in the numbered set of allowed types.
bool isInTypeSet(mlir::Type type, unsigned typeSet);

/// The same type with another tensor element type: `tensor<4xf32>` -> `tensor<4xf16>`, also inside a sequence or optional.
mlir::Type withElementType(mlir::Type type, mlir::Type elementType);

} // namespace amp::onnx

#endif // AMP_DIALECT_ONNX_IR_ONNXSPECS_H
