//===- Policy.h - Autocast policy tables ----------------------------------===//
//
// Says for each ONNX operator in which type autocast should run it. The tables
// are the JSON files under data/policies (docs/policies.md) and files of the
// user; nothing here knows the IR.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_AMP_POLICY_POLICY_H
#define AMP_DIALECT_AMP_POLICY_POLICY_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace amp {

/// What autocast does with an operator.
enum class OpClass {
  Narrow,  ///< cast eligible float operands to the autocast type
  Wide,    ///< cast eligible float operands to float32
  Promote, ///< run in the widest type of the float operands; weak ones do not
           ///< count, f16 with bf16 gives float32
  Follow,  ///< run in the type of the primary operand; others of its type
           ///< variable are cast to it
  Move,  ///< like Follow, and no arithmetic: a cast may be moved from one side
         ///< of the op to the other
  Never, ///< no decision: operands keep their declared types
};

/// The type an autocast region narrows to.
enum class HalfType { F16, BF16 };

/// How the decisions of a policy are placed.
enum class Placement {
  ProgramOrder, ///< op by op, as an eager framework would; casts where they
                ///< fall
  FewestCasts, ///< the least bytes moved among the placements the classes allow
};

/// The word a policy file uses for the class.
llvm::StringRef stringifyOpClass(OpClass opClass);
std::optional<OpClass> symbolizeOpClass(llvm::StringRef word);

llvm::StringRef stringifyHalfType(HalfType type);
llvm::StringRef stringifyPlacement(Placement placement);
std::optional<Placement> symbolizePlacement(llvm::StringRef word);

/// What the cases of a row may ask about one op. Something unset makes every
/// case that asks for it not apply.
struct OpView {
  /// Rank of the primary operand.
  std::optional<int64_t> rank;
  /// Text of an attribute the op carries; none when the attribute is absent.
  llvm::function_ref<std::optional<std::string>(llvm::StringRef)> attribute =
      nullptr;
  /// Whether the operand is weak: of rank 0, beside operands of higher rank.
  llvm::function_ref<bool(unsigned)> isWeakOperand = nullptr;
};

/// An exception of a row: its class holds for ops that meet all its conditions.
struct RowCase {
  /// Attribute that must be present, with one of `values` unless that is empty.
  std::string attribute;
  std::vector<std::string> values;
  /// Ranks of the primary operand; empty when any will do.
  std::vector<int64_t> ranks;
  std::optional<unsigned> weakOperand;
  OpClass opClass = OpClass::Never;

  bool matches(const OpView &op) const;
};

/// What a policy says of an operator in one autocast type. Refers to the policy
/// it came from.
struct Row {
  /// Class of an op to which no case applies.
  OpClass opClass = OpClass::Never;
  /// Why, in one sentence.
  llvm::StringRef note;
  /// The table, or user option, that said so.
  llvm::StringRef origin;
  llvm::ArrayRef<RowCase> cases;

  /// Class of one op: that of the first case that applies, else `opClass`.
  OpClass classFor(const OpView &op) const;
};

/// Name and description of a policy that is built in.
struct PolicyInfo {
  std::string name;
  std::string description;
};

/// A complete, checked policy table.
class Policy {
public:
  /// Loads a built-in policy by name, or a JSON file by path. The error names
  /// file, row and remedy.
  static llvm::Expected<Policy> load(llvm::StringRef nameOrPath);

  /// The built-in policies, best known first.
  static std::vector<PolicyInfo> builtins();

  llvm::StringRef name() const { return policyName; }
  llvm::StringRef description() const { return policyDescription; }
  Placement placement() const { return policyPlacement; }

  /// The row of an operator of the ai.onnx domain; none when no table has it.
  std::optional<Row> lookup(llvm::StringRef op, HalfType type) const;

  /// The user wants the operator narrow, or wide, whatever the table says. An
  /// unknown operator, one that was ordered both ways, and one without a
  /// precision to decide are errors.
  llvm::Error allow(llvm::StringRef op) {
    return override(op, OpClass::Narrow);
  }
  llvm::Error deny(llvm::StringRef op) { return override(op, OpClass::Wide); }

  /// Operators with a row, sorted.
  std::vector<llvm::StringRef> ops() const;

private:
  friend class PolicyParser;

  struct Entry {
    OpClass f16 = OpClass::Never;
    OpClass bf16 = OpClass::Never;
    std::string note;
    std::string origin;
    std::vector<RowCase> cases;
    bool isOverride = false;
  };

  llvm::Error override(llvm::StringRef op, OpClass opClass);

  std::string policyName;
  std::string policyDescription;
  Placement policyPlacement = Placement::FewestCasts;
  llvm::StringMap<Entry> rows;
};

} // namespace amp

#endif // AMP_DIALECT_AMP_POLICY_POLICY_H
