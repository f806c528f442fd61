//===- Storage.h - The memory of a step's values --------------------------===//
//
// Arguments, results, constants and slots of the arena; which result is written
// over an argument at once, and which is copied there at the end.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_CODEGEN_PLAN_STORAGE_H
#define AMP_CODEGEN_PLAN_STORAGE_H

#include "amp/Codegen/Plan/Arena.h"
#include "amp/Codegen/Plan/Fusion.h"

namespace amp::plan {

enum class Place {
  Argument, ///< the caller's, `index` is the argument's number
  Result,   ///< the caller's, `index` is the result's number
  Constant, ///< given with the artifact or in the code
  Arena     ///< a slot
};

struct Storage {
  Place place = Place::Arena;
  unsigned index = 0;
  /// What it was made for; null for a temporary copy.
  mlir::Value value;
  int64_t bytes = 0;
};

/// From one storage to another, after all kernels.
struct Copy {
  unsigned from;
  unsigned to;
  /// A copy out of the way of other copies: before all that are not.
  bool isFirst = false;
};

/// The memory of the values of one function.
class StorageMap {
public:
  /// `getBytes`: bytes of one element in memory.
  StorageMap(mlir::func::FuncOp function, llvm::ArrayRef<Group> groups,
             llvm::function_ref<int64_t(mlir::Type)> getBytes);

  static constexpr unsigned none = ~0u;

  /// The storage of a value, views looked through; none if the value is never
  /// in memory.
  unsigned getStorage(mlir::Value value) const {
    auto found = storageOf.find(stripViews(value));
    return found == storageOf.end() ? none : found->second;
  }
  llvm::ArrayRef<Storage> getStorages() const { return storages; }
  const Storage &operator[](unsigned index) const { return storages[index]; }
  /// Copies that end the step, in order.
  llvm::ArrayRef<Copy> getCopies() const { return copies; }
  /// Adds a slot of the arena (scratch memory).
  unsigned addSlot(int64_t bytes);

private:
  unsigned add(Place place, unsigned index, mlir::Value value);
  void addValues();
  void shareDyingInputs();
  void placeResult(unsigned index, llvm::DenseSet<mlir::Value> &taken);
  bool mayOverwrite(mlir::Value argument, unsigned writer) const;
  bool readsInPlace(const Group &group, mlir::Value output,
                    mlir::Value input) const;

  mlir::func::FuncOp function;
  llvm::ArrayRef<Group> groups;
  llvm::function_ref<int64_t(mlir::Type)> getBytes;
  llvm::SmallVector<Storage> storages;
  llvm::DenseMap<mlir::Value, unsigned> storageOf;
  llvm::DenseMap<mlir::Operation *, unsigned> groupOf;
  llvm::SmallVector<Copy> copies;
};

/// The argument that result `index` is written over, if it is.
std::optional<unsigned> getAliasedArgument(mlir::func::FuncOp function,
                                           unsigned index);

} // namespace amp::plan

#endif // AMP_CODEGEN_PLAN_STORAGE_H
