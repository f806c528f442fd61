//===- Rewriter.h - What a step of the opset table works on -----*- C++ -*-===//
// The node being converted, what is known about its values, and what is made
// beside it.
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_ONNX_OPSET_REWRITER_H
#define AMP_LIB_ONNX_OPSET_REWRITER_H

#include "amp/Onnx/Opset/Opset.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/Twine.h"

#include <deque>
#include <optional>

namespace amp::onnx_opset {

struct Step;

/// Sizes of a value; a negative one is unknown.
using Dims = llvm::SmallVector<int64_t, 6>;
using Ints = llvm::SmallVector<int64_t, 6>;

/// One conversion from end to end: the surrounding graph plus the values made
/// so far.
struct Conversion {
  Conversion(NodeContext &context, int target)
      : context(context), target(target) {}

  NodeContext &context;
  /// The opset the conversion goes to; a step may make what is only legal
  /// there.
  const int target;
  /// Constants made on the way (a deque: pointers to them stay valid), and
  /// their types.
  std::deque<onnx::TensorProto> constants;
  std::deque<onnx::TypeProto> types;
  llvm::StringMap<const onnx::TensorProto *> constantByName;
  llvm::StringMap<const onnx::TypeProto *> typeByName;
};

/// A node within one step. A rule edits `node` and adds nodes around it; all of
/// them are then nodes of the opset that the step leads to.
class Rewriter {
public:
  Rewriter(onnx::NodeProto theNode, const Step *step, Conversion &conversion)
      : node(std::move(theNode)), step(step), conversion(conversion) {}

  onnx::NodeProto node;
  std::vector<onnx::NodeProto> before, after;

  int target() const { return conversion.target; }

  /// An error "<op>: <message>".
  llvm::Error fail(const llvm::Twine &message) const;
  /// The error of a step that has no rule: quotes what the table says about it.
  llvm::Error refuse() const;

  // Inputs and outputs. An absent one is the empty string.
  llvm::StringRef input(int index) const;
  bool hasInput(int index) const { return !input(index).empty(); }
  void setInput(int index, llvm::StringRef value);
  void dropInput(int index) { setInput(index, ""); }
  bool hasOutput(int index) const {
    return index < node.output_size() && !node.output(index).empty();
  }
  bool isOutputUsed(int index) const {
    return hasOutput(index) && conversion.context.isUsed(node.output(index));
  }
  /// Removes absent inputs and outputs at the end.
  void trim();

  /// What an Unsqueeze that a step up may have made reads; empty if `value` is
  /// none of it.
  llvm::StringRef unsqueezed(llvm::StringRef value) const {
    return conversion.context.getUnsqueezed(value);
  }

  // What is known about a value.
  const onnx::TypeProto *type(llvm::StringRef value) const;
  /// TensorProto::UNDEFINED if it is not known to be a tensor.
  int elementType(llvm::StringRef value) const;
  std::optional<Dims> dims(llvm::StringRef value) const;
  std::optional<int64_t> rank(llvm::StringRef value) const;
  /// The value of an integer or floating-point constant; nothing if it is not
  /// constant.
  std::optional<Ints> ints(llvm::StringRef value) const;
  std::optional<llvm::SmallVector<double>> floats(llvm::StringRef value) const;

  // Attributes.
  const onnx::AttributeProto *attribute(llvm::StringRef name) const;
  bool hasAttribute(llvm::StringRef name) const {
    return attribute(name) != nullptr;
  }
  int64_t intAttribute(llvm::StringRef name, int64_t otherwise) const;
  float floatAttribute(llvm::StringRef name, float otherwise) const;
  std::string stringAttribute(llvm::StringRef name,
                              llvm::StringRef otherwise) const;
  std::optional<Ints> intsAttribute(llvm::StringRef name) const;
  void erase(llvm::StringRef name);
  void set(llvm::StringRef name, int64_t value);
  void set(llvm::StringRef name, llvm::StringRef value);
  void set(llvm::StringRef name, llvm::ArrayRef<int64_t> value);
  void setFloat(llvm::StringRef name, float value);
  void setTensor(llvm::StringRef name, onnx::TensorProto value);
  void setFloats(llvm::StringRef name, llvm::ArrayRef<float> value);

  // New values. `base` says what a value is for; the name begins with that of
  // the node's first output.
  std::string freshName(llvm::StringRef base);
  /// A constant of i64: a vector, or a scalar if `scalar`.
  std::string addInts(llvm::StringRef base, llvm::ArrayRef<int64_t> values,
                      bool scalar = false);
  /// A constant of a float type (f32, f64, f16 or bf16): a vector, or a scalar
  /// if `scalar`.
  std::string addFloats(llvm::StringRef base, int elementType,
                        llvm::ArrayRef<double> values, bool scalar = false);
  std::string addConstant(llvm::StringRef base, onnx::TensorProto tensor);
  onnx::NodeProto &addBefore(llvm::StringRef op,
                             llvm::ArrayRef<llvm::StringRef> inputs,
                             llvm::StringRef output);
  onnx::NodeProto &addAfter(llvm::StringRef op,
                            llvm::ArrayRef<llvm::StringRef> inputs,
                            llvm::StringRef output);

private:
  onnx::AttributeProto &fresh(llvm::StringRef name,
                              onnx::AttributeProto::AttributeType type);

  const Step *step;
  Conversion &conversion;
};

/// Puts attribute `name` on a node that has just been made.
void addAttribute(onnx::NodeProto &node, llvm::StringRef name, int64_t value);
void addAttribute(onnx::NodeProto &node, llvm::StringRef name,
                  llvm::ArrayRef<int64_t> value);

/// A rule edits the node of the Rewriter from one side of a step to the other.
using Rule = llvm::Error (*)(Rewriter &);

} // namespace amp::onnx_opset

#endif // AMP_LIB_ONNX_OPSET_REWRITER_H
