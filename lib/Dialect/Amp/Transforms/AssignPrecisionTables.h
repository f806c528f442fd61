//===- AssignPrecisionTables.h - What tables and regions say of an op -----===//
//
// Scopes (the pass options, then each amp.autocast inside) and, per scope and
// operator, the policy's row with the facts that precision depends on.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_AMP_TRANSFORMS_ASSIGNPRECISIONTABLES_H
#define AMP_DIALECT_AMP_TRANSFORMS_ASSIGNPRECISIONTABLES_H

#include "amp/Dialect/Amp/IR/AmpDialect.h"
#include "amp/Dialect/Amp/Policy/OpFacts.h"
#include "amp/Dialect/Amp/Policy/Policy.h"
#include "llvm/ADT/DenseMap.h"
#include <memory>

namespace amp::assign {

/// The element types that matter here.
enum class Kind : uint8_t { Other, F32, F16, BF16 };

inline bool isHalf(Kind kind) {
  return kind == Kind::F16 || kind == Kind::BF16;
}

/// Kind of a tensor's elements; `Other` for whatever is not a tensor.
Kind getKind(mlir::Type type);

/// "f32", "f16" or "bf16".
std::optional<Kind> parseKind(llvm::StringRef word);
llvm::StringRef stringifyKind(Kind kind);

/// Sets of type variables of one operator, a bit each.
using VarSet = uint16_t;

inline bool contains(VarSet set, int var) {
  return var >= 0 && (set >> var & 1);
}

/// What holds for all ops of one operator in one scope.
struct OpInfo {
  const onnx::OpSpec *spec = nullptr;
  const OpFact *fact = nullptr;
  std::optional<Row> row;
  /// Variables that some slot keeps at its declared type.
  VarSet held = 0;
  /// Variables that `follow` and `move` decide together.
  VarSet followed = 0;
  /// Variables that may be f16, and bf16.
  VarSet legalF16 = 0, legalBF16 = 0;
  /// Variable of the primary operand, else of the first result; -1: none.
  int primaryVar = -1;

  VarSet legal(Kind half) const {
    return half == Kind::F16 ? legalF16 : legalBF16;
  }
  /// Variables that an op of class `opClass` decides together.
  VarSet decided(OpClass opClass) const;
};

/// One autocast region, or the options around all of them.
struct Scope {
  bool enabled = false;
  /// Autocast is off, but what is half already stays so, as in an eager
  /// framework: ops run in the type their operands promote to.
  bool promotes = false;
  Kind half = Kind::Other;
  const Policy *policy = nullptr;
  llvm::DenseMap<mlir::OperationName, std::unique_ptr<OpInfo>> infos;

  bool isProgramOrder() const {
    return policy->placement() == Placement::ProgramOrder;
  }
};

/// Options that name tables.
struct TableOptions {
  Kind dtype = Kind::Other;
  std::string policy;
  std::vector<std::string> allow, deny;
};

/// Owns policies and scopes for one run of the pass.
class Tables {
public:
  explicit Tables(TableOptions options)
      : options(std::move(options)), facts(OpFacts::builtin()) {}

  /// The scope of the pass options.
  llvm::Expected<Scope *> getOutermost();
  /// The scope of `region`, which lies in `outer`. Emits what is wrong.
  mlir::FailureOr<Scope *> getScope(AutocastOp region, const Scope &outer);
  /// A scope that decides nothing.
  Scope *getDisabled() { return &disabled; }

  /// Facts of an operator op in a scope.
  const OpInfo &getInfo(mlir::Operation *op, Scope &scope);

private:
  llvm::Expected<const Policy *> getPolicy(llvm::StringRef nameOrPath);

  TableOptions options;
  OpFacts facts;
  llvm::StringMap<std::unique_ptr<Policy>> policies;
  std::vector<std::unique_ptr<Scope>> scopes;
  Scope disabled;
};

} // namespace amp::assign

#endif // AMP_DIALECT_AMP_TRANSFORMS_ASSIGNPRECISIONTABLES_H
