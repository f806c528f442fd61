//===- OpFacts.h - Facts about operators that no schema tells -------------===//
//
// Primary operands, slots that never change type, attributes that name a type,
// range and guard roles: data/op-facts.json.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_AMP_POLICY_OPFACTS_H
#define AMP_DIALECT_AMP_POLICY_OPFACTS_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace amp {

/// How large a result may be against its operands.
enum class ValueRange {
  Keeps,   ///< of the size of the operands
  Bounded, ///< of ordinary size whatever the operand
  Expands, ///< may be far larger than the operand
};

/// Part an op plays where a tiny constant keeps a division from zero.
enum class GuardRole {
  None,
  Holder, ///< puts the constant in: Add, Max, Clip, ...
  User,   ///< is protected by it: Div, Log, Sqrt, ...
};

/// The facts of one operator; a default one holds for operators the file does
/// not name.
struct OpFact {
  /// Operand whose type `follow` and `move` take.
  unsigned primary = 0;
  /// Operands that keep their declared type under every policy.
  llvm::SmallVector<unsigned> fixedSlots;
  /// Operands that `follow` casts to the primary's type although their type
  /// variable is another.
  llvm::SmallVector<unsigned> tiedSlots;
  /// Attribute that names the result type; empty when there is none.
  std::string dtypeAttr;
  /// Without that attribute the result has the type of operand 0, and `follow`
  /// gives it that type.
  bool resultFollows = false;
  /// Reads the shape of its operand alone and gives integers: there is nothing
  /// to decide.
  bool shapeOnly = false;
  ValueRange range = ValueRange::Keeps;
  GuardRole guard = GuardRole::None;
  /// Operand of a guard user that must not be zero.
  unsigned guardedSlot = 0;
  /// Sentence of the ONNX specification that promises float32 inside; empty
  /// when there is none.
  std::string float32Inside;

  bool isFixedSlot(unsigned operand) const;
  bool isTiedSlot(unsigned operand) const;
};

/// Facts by operator.
class OpFacts {
public:
  /// The facts that are built in.
  static OpFacts builtin();
  /// Reads facts from JSON text; `file` is what errors call it.
  static llvm::Expected<OpFacts> parse(llvm::StringRef text,
                                       llvm::StringRef file);

  const OpFact &lookup(llvm::StringRef op) const;

  /// Operators that differ from the default, sorted.
  std::vector<llvm::StringRef> ops() const;

private:
  llvm::StringMap<OpFact> facts;
  OpFact defaultFact;
};

} // namespace amp

#endif // AMP_DIALECT_AMP_POLICY_OPFACTS_H
