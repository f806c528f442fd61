//===- Steps.h - The table of opset steps -----------------------*- C++ -*-===//
// Rows of data/opset-steps.def and how to find them.
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_ONNX_OPSET_STEPS_H
#define AMP_LIB_ONNX_OPSET_STEPS_H

#include "Rewriter.h"

namespace onnx {
class OpSchema;
}

namespace amp::onnx_opset {

/// The step of `op` from the schema of version `from` to the next one, of
/// version `to`. A step without a row only widens: a node of the older version
/// is a node of the newer one, and the other way round if the older schema
/// admits it.
struct Step {
  llvm::StringLiteral op;
  /// The name of the op after the step; differs from `op` where an operator was
  /// replaced.
  llvm::StringLiteral newer;
  int from, to;
  /// Null: the node stays as it is. (On the way down it is then checked against
  /// the older schema.)
  Rule raise, lower;
  /// What changed, in a few words.
  llvm::StringLiteral what;
};

/// All rows, sorted by op and version.
llvm::ArrayRef<Step> getSteps();

/// The rows whose older op is `op`, by version.
llvm::ArrayRef<const Step *> getStepsFrom(llvm::StringRef op);

/// The row that leads to version `to` of `op`, or null.
const Step *getStepTo(llvm::StringRef op, int to);

/// The part of a step down that all ops share: drops attributes that say what
/// the older schema implies, and refuses what it does not know. `newer` and
/// `older` are schemas of the node's op.
llvm::Error narrow(Rewriter &rewriter, const onnx::OpSchema &newer,
                   const onnx::OpSchema &older);

/// Checks what the rules take for granted: how many inputs and outputs there
/// are, and the kinds of the attributes.
llvm::Error checkForm(const Rewriter &rewriter, const ::onnx::OpSchema &schema);

/// Checks a node against the schema it is said to be written for: attributes,
/// counts of inputs and outputs, types.
llvm::Error checkNode(Rewriter &rewriter, const onnx::OpSchema &schema,
                      int version);

} // namespace amp::onnx_opset

#endif // AMP_LIB_ONNX_OPSET_STEPS_H
