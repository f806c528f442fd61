//===- Decisions.h - Decisions in a file ----------------------------------===//
//
// Writes what was decided as JSON that a person can edit, and reads it back.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_AMP_TRANSFORMS_DECISIONS_H
#define AMP_DIALECT_AMP_TRANSFORMS_DECISIONS_H

#include "AssignPrecisionGraph.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace amp::assign {

/// A decision file, `docs/decisions.md`: one entry per op. An op without a
/// name, or with one that others have too, is called by its number:
/// "#12:MatMul".
class DecisionFile {
public:
  /// Writes the decisions that the ops of `graphs` carry.
  static llvm::Error write(llvm::StringRef path, mlir::ModuleOp module,
                           llvm::ArrayRef<std::unique_ptr<Graph>> graphs);

  /// Reads entries. The error names file and entry.
  llvm::Error read(llvm::StringRef path);

  /// Fixes the types of every op with an entry; the rule becomes `file` where
  /// they differ from what was decided. Emits what cannot be.
  mlir::LogicalResult apply(llvm::ArrayRef<std::unique_ptr<Graph>> graphs,
                            mlir::ModuleOp module);

private:
  struct Entry {
    std::string op;
    /// Null types: Other.
    std::vector<Kind> operands, results;
  };

  llvm::Error readEntry(const llvm::json::Value &value, unsigned number);
  mlir::LogicalResult applyEntry(const Entry &entry, llvm::StringRef key,
                                 Node &node, Graph &graph);
  mlir::LogicalResult checkSlots(llvm::ArrayRef<Slot> slots,
                                 llvm::ArrayRef<Kind> kinds,
                                 llvm::StringRef word, const Node &node,
                                 llvm::StringRef key, const Graph &graph,
                                 llvm::MutableArrayRef<Kind> ofVar);

  std::string path;
  llvm::StringMap<Entry> entries;
  /// Keys in the order of the file.
  std::vector<std::string> order;
};

} // namespace amp::assign

#endif // AMP_DIALECT_AMP_TRANSFORMS_DECISIONS_H
