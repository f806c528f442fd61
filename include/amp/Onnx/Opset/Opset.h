//===- Opset.h - Move a node from one ONNX opset to another -----*- C++ -*-===//
// Our own steps between the versions of the default domain's operators, in both
// directions, on single nodes. The table of steps is data/opset-steps.def;
// docs/opsets.md shows it.
//===----------------------------------------------------------------------===//

#ifndef AMP_ONNX_OPSET_OPSET_H
#define AMP_ONNX_OPSET_OPSET_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <onnx/onnx_pb.h>
#include <optional>
#include <string>
#include <vector>

namespace onnx {
class OpSchema;
}

namespace amp::onnx_opset {

/// The opset the `onnx` dialect is written for.
inline constexpr int pinnedOpset = 26;

/// The newest opset of the default domain that nodes can be converted from.
int getNewestOpset();

/// Schemas of the default domain that were looked up: the library finds one by
/// three strings. Who converts many nodes keeps one of these.
class SchemaCache {
public:
  /// The schema in force at `version`; null if there is none, or if it only
  /// says that the operator is gone.
  const ::onnx::OpSchema *find(llvm::StringRef op, int version);

private:
  /// By operator and version, from 1; std::nullopt: not looked up yet.
  llvm::StringMap<llvm::SmallVector<std::optional<const ::onnx::OpSchema *>, 0>>
      known;
};

/// What a step may ask about the graph around a node.
struct NodeContext {
  explicit NodeContext(SchemaCache &schemas) : schemas(schemas) {}
  virtual ~NodeContext();

  SchemaCache &schemas;

  /// The type of a value the node reads or writes, or null if it is not known.
  /// The pointer stays valid until the conversion of the node ends.
  virtual const ::onnx::TypeProto *getType(llvm::StringRef value) const = 0;

  /// The tensor of a small constant value (initializer that cannot be
  /// overridden, or Constant), or null. Its data is in the message itself, in
  /// raw_data or in a typed field. The pointer stays valid until the conversion
  /// of the node ends.
  virtual const ::onnx::TensorProto *
  getConstant(llvm::StringRef value) const = 0;

  /// A name that no other value of the model has; `base` says what the value is
  /// for.
  virtual std::string freshName(llvm::StringRef base) = 0;

  /// The value that an Unsqueeze without a name of its own, as a step up makes
  /// it, has put dimensions of size 1 into to make `value`; empty if there is
  /// none. A step down reads it instead.
  virtual llvm::StringRef getUnsqueezed(llvm::StringRef value) const;

  /// Whether something reads the output `value`; true when nobody knows.
  virtual bool isUsed(llvm::StringRef value) const;
};

/// A node with what was made beside it. The nodes are in topological order;
/// those that came new are unnamed, the one that took the place of the original
/// node keeps its name, metadata and doc string. The outputs of the original
/// node are written by one of them, under their own names. `constants` are
/// named tensors that the nodes read.
struct Rewritten {
  std::vector<::onnx::NodeProto> nodes;
  std::vector<::onnx::TensorProto> constants;
};

/// Whether convertNode has anything to do, or to refuse, for a node of the
/// default domain; costs one or two look-ups. When it returns false, the node
/// means at `to` what it meant at `from`.
bool needsConversion(llvm::StringRef op, int from, int to);

/// Whether a step between the two opsets has a rule of its own. Where none has,
/// what a conversion does depends on nothing but the node's op, its attributes,
/// which inputs and outputs are there, and their element types.
bool hasRule(llvm::StringRef op, int from, int to);

/// Converts `node`, written for opset `from`, to opset `to`, in either
/// direction. A node of another domain comes back unchanged. On failure the
/// node stays as it is; the error says which op cannot be converted and why.
/// Graph attributes are left alone: their nodes are converted one by one, by
/// the caller.
llvm::Expected<Rewritten> convertNode(const ::onnx::NodeProto &node, int from,
                                      int to, NodeContext &context);

/// Raises a node to the pinned opset (lowers it if the model is newer than
/// that).
inline llvm::Expected<Rewritten> raiseNode(const ::onnx::NodeProto &node,
                                           int from, NodeContext &context) {
  return convertNode(node, from, pinnedOpset, context);
}

/// Lowers a node from the pinned opset (raises it if `to` is newer than that).
inline llvm::Expected<Rewritten> lowerNode(const ::onnx::NodeProto &node,
                                           int to, NodeContext &context) {
  return convertNode(node, pinnedOpset, to, context);
}

} // namespace amp::onnx_opset

#endif // AMP_ONNX_OPSET_OPSET_H
