//===- OpFields.h - An operation's fields as protos -----------------------===//
//
// What the onnx library's functions ask about a node, converted when they ask.
// Private to this library.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_DIALECT_ONNX_INFERENCE_OPFIELDS_H
#define AMP_LIB_DIALECT_ONNX_INFERENCE_OPFIELDS_H

#include "amp/Dialect/Onnx/IR/OnnxDialect.h"
#include "onnx/defs/schema.h"
#include "llvm/ADT/DenseMap.h"
#include <google/protobuf/arena.h>

namespace amp::onnx::detail {

/// Sequences longer than this are not followed value by value: the library's
/// functions take time and memory proportional to a length a file may claim.
inline constexpr int64_t maxFollowedLength = 64;

/// Types as protos, each converted once: a graph has few distinct types.
class TypeProtos {
public:
  /// The proto of `type`, negative dimensions left out as they are no sizes;
  /// null for unknown types. Lives as long as this object.
  const ::onnx::TypeProto *get(mlir::Type type);

private:
  google::protobuf::Arena arena;
  llvm::DenseMap<mlir::Type, const ::onnx::TypeProto *> protos;
};

/// Removes dimension values that are no sizes.
void dropNegativeDims(::onnx::TypeProto &proto);

/// Schemas of the pinned opset, each looked up once.
class Schemas {
public:
  /// Null when the library does not have the operator.
  const ::onnx::OpSchema *get(const OpSpec &spec);

private:
  llvm::DenseMap<const OpSpec *, const ::onnx::OpSchema *> schemas;
};

/// A small constant operand as a tensor proto in `proto`; false when `value` is
/// no constant, or one too large to tell a shape.
bool getSmallConstant(mlir::Value value, ::onnx::TensorProto &proto);

/// Attributes of a schema op by their ONNX names. Graphs are not among them.
class OpAttributes {
public:
  OpAttributes(mlir::Operation *op, const OpSpec &spec) : op(op), spec(spec) {}

  /// Null when absent.
  const ::onnx::AttributeProto *get(const std::string &name) const;

private:
  mlir::Operation *op;
  const OpSpec &spec;
  mutable llvm::SmallVector<
      std::pair<const AttrSpec *, std::unique_ptr<::onnx::AttributeProto>>, 4>
      converted;
};

} // namespace amp::onnx::detail

#endif // AMP_LIB_DIALECT_ONNX_INFERENCE_OPFIELDS_H
