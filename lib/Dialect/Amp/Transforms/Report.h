//===- Report.h - What autocast decided and did ---------------------------===//
//
// The report's contents, collected from the IR, and its two forms.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_DIALECT_AMP_TRANSFORMS_REPORT_H
#define AMP_LIB_DIALECT_AMP_TRANSFORMS_REPORT_H

#include "amp/Dialect/Amp/IR/AmpDialect.h"
#include "amp/Support/HalfConversion.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include <map>
#include <optional>

namespace amp {

struct Report {
  /// Bytes of float tensors, as float32 wherever a type was decided, and as
  /// the types are now.
  struct Bytes {
    int64_t before = 0, after = 0;
  };

  /// An op with a decision.
  struct Op {
    /// The node's name if no other has it, else number and type: "#12:MatMul".
    std::string name;
    llvm::StringRef type;
    DecisionAttr decision;
    /// Names of its results; empty for those that have none.
    llvm::SmallVector<llvm::StringRef> outputs;
    /// Operands that are cast, constants not counted, which are stored cast.
    unsigned numCasts = 0;
    Bytes bytes;
    /// For each operand the entry whose result it is, casts looked through.
    llvm::SmallVector<std::optional<int64_t>> reads;
  };

  /// A constant that loses values beyond rounding.
  struct Constant {
    llvm::StringRef name;
    mlir::Type type;
    int64_t numElements = 0;
    NarrowingStats stats;
    /// What would be lost is kept at the nearest value of the narrow type.
    bool clamped = false;
  };

  std::vector<Op> ops;
  std::vector<Constant> constants;
  /// Ops with a narrow slot; ops decided to be in float32; the rest.
  unsigned numNarrow = 0, numWide = 0, numKept = 0;
  unsigned numCasts = 0, numNarrowedConstants = 0;
  /// Casts of the user that turned out to be useless.
  int64_t numRemovedCasts = 0;
  std::map<DecisionRule, unsigned> numByRule;
  Bytes bytes, constantBytes;

  static Report collect(mlir::ModuleOp module);

  void writeJson(llvm::raw_ostream &os) const;
  void writeText(llvm::raw_ostream &os) const;

private:
  void addOp(mlir::Operation *op, std::string name);
  void addCast(CastOp cast);
  void addConstant(mlir::Value constant);
  std::optional<int64_t> findEntry(mlir::Value value) const;

  llvm::DenseMap<mlir::Operation *, int64_t> entryOf;
};

} // namespace amp

#endif // AMP_LIB_DIALECT_AMP_TRANSFORMS_REPORT_H
