//===- Entry.h - What an entry is called with, and its memory -------------===//
//
// The tensors of an entry, and where each storage lies while it runs: what code
// generators of all targets share.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_CODEGEN_PLAN_ENTRY_H
#define AMP_CODEGEN_PLAN_ENTRY_H

#include "amp/Codegen/Plan/Storage.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/Support/JSON.h"
#include <string>
#include <vector>

namespace amp::plan {

/// One tensor of an entry, in the order of the pointers it is called with.
struct TensorInfo {
  std::string name;
  /// A role of the train dialect by its name, or `constant`.
  std::string role;
  /// The parameter that a gradient or a state belongs to.
  std::string of;
  mlir::Type elementType;
  llvm::SmallVector<int64_t> shape;
  /// What a constant holds; null for everything else.
  mlir::ElementsAttr data;
};

/// What a caller of an entry must know, whatever the target.
struct CompiledEntry {
  std::string name;
  /// Arguments, then results that alias no argument, then constants.
  std::vector<TensorInfo> tensors;
  /// Bytes of the arena.
  uint64_t workspace = 0;
  /// Which operations became which kernels.
  std::string plan;
  /// Where each intermediate lies in the arena, and the peak.
  std::string memory;
  /// The same as `docs/compiling.md` describes them for the report.
  llvm::json::Array groups, buffers;
  /// The most bytes of the arena that are needed at one time.
  int64_t needed = 0;
};

/// How an operation is called in a diagnostic: its kind, and its name if it
/// has one.
std::string describe(mlir::Operation *op);

/// Fails with a diagnostic unless `function` has one block and tensors of
/// static shapes only.
mlir::LogicalResult checkStep(mlir::func::FuncOp function);

/// Whether a group has results, and all of them are empty.
bool isEmpty(const Group &group);

/// Where a storage is while the entry runs.
struct Location {
  enum Kind {
    Tensor, ///< `number` of the entry's tensors
    Arena,  ///< `number` is the offset
    Inline  ///< `data`, which the code has in it
  };
  Kind kind = Tensor;
  int64_t number = 0;
  mlir::ElementsAttr data;
};

/// The memory of one entry. First every step says which storages it uses, then
/// the arena is laid out, then storages are located.
class EntryMemory {
public:
  /// Constants of at most `inlineConstantBytes` are in the code, larger ones
  /// are tensors of the entry.
  EntryMemory(mlir::func::FuncOp function, const StorageMap &storages,
              int64_t inlineConstantBytes, int64_t alignment = arenaAlignment);

  /// Storage number `storage` is used in step `step`; steps ascend.
  void use(int64_t step, unsigned storage);
  void layOut();
  mlir::FailureOr<Location> locate(unsigned storage);

  /// Arguments, then results that alias no argument, then the constants that
  /// were located.
  const std::vector<TensorInfo> &getTensors() const { return tensors; }
  const ArenaLayout &getLayout() const { return layout; }
  /// Tells `entry`, which has its name, its tensors and its arena.
  void describe(CompiledEntry &entry) const;

private:
  void describeTensors();
  std::string print(llvm::StringRef entry) const;
  llvm::json::Array describeBuffers() const;
  llvm::SmallVector<std::pair<int64_t, unsigned>> getSlots() const;
  int64_t addConstant(unsigned storage, mlir::ElementsAttr data);

  mlir::func::FuncOp function;
  const StorageMap &storages;
  int64_t inlineConstantBytes, alignment;
  /// Storages in the arena, in the order of their first use.
  llvm::SmallVector<unsigned> order;
  llvm::DenseMap<unsigned, Lifetime> lifetimes;
  llvm::DenseMap<unsigned, int64_t> offsets;
  llvm::DenseMap<unsigned, int64_t> tensorOfConstant;
  ArenaLayout layout;
  std::vector<TensorInfo> tensors;
};

/// What a group became, for a reader: the kernel, and how much of it is run.
struct KernelLine {
  std::string kernel;
  std::string extent;
};

/// Tells `entry`, which has its name, its plan. Groups in order: kind, space,
/// operations, what is read and written, and the kernels they became. What
/// `kernels` has beyond the groups are copies. `getBytes`: bytes of one element
/// in memory.
void describePlan(CompiledEntry &entry, llvm::ArrayRef<Group> groups,
                  llvm::ArrayRef<llvm::SmallVector<KernelLine>> kernels,
                  llvm::function_ref<int64_t(mlir::Type)> getBytes);

} // namespace amp::plan

#endif // AMP_CODEGEN_PLAN_ENTRY_H
