//===- GroupCode.h - What the printers of fused groups share --------------===//
//
// The buffers, accesses and collapsed loops of a group, its key, and the code
// of its operations at one point of the space.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_CODEGEN_CPU_GROUPCODE_H
#define AMP_CODEGEN_CPU_GROUPCODE_H

#include "Elementwise.h"
#include "PointLoops.h"
#include "amp/Codegen/Plan/Fusion.h"
#include "llvm/ADT/MapVector.h"

namespace amp::cpu {

/// Numbers the memory that a value lies in: two values with one number share
/// it.
using StorageOf = llvm::function_ref<unsigned(mlir::Value)>;

/// What is known at one point of the space, in compute type.
struct PointValues {
  /// Results of members.
  llvm::DenseMap<mlir::Value, mlir::Value> members;
  /// What was loaded, by the number of the use.
  llvm::DenseMap<unsigned, mlir::Value> loads;
};

/// Kind of the dimensions of Rows that are reduced, and in Reduce.
inline constexpr int64_t innerKind = 1;

/// A group made ready for printing.
class GroupCode {
public:
  /// `kinds`: of the dimensions of the space, as `plan::collapse` takes them.
  GroupCode(const plan::Group &group, llvm::ArrayRef<int64_t> kinds,
            StorageOf storageOf);

  const plan::Group &getGroup() const { return group; }
  /// The collapsed loops. There is at least one, which lanes run along.
  llvm::ArrayRef<int64_t> getSizes() const { return space.sizes; }
  llvm::ArrayRef<int64_t> getKinds() const { return space.kinds; }
  int64_t getInnerSize() const { return space.sizes.back(); }
  int64_t getOuterCount() const {
    return plan::getNumElements(getSizes().drop_back());
  }
  /// Bytes of the largest element that lies beside its neighbour along the
  /// innermost loop; of an i32 if there is none.
  int64_t getWidestBytes() const;
  /// Different operands that are read or written along the innermost loop.
  int64_t countSequences() const;
  /// All that the code depends on, as text.
  std::string getKey(llvm::StringRef printer) const;
  /// A readable name of the kernel.
  std::string getName() const;
  /// What the kernel is called with.
  llvm::SmallVector<KernelOperand> getOperands() const { return operands; }

  /// The call that prints `body` with this group's key.
  KernelCall makeCall(KernelModule &kernels, llvm::StringRef printer,
                      int64_t iterations, int64_t grain,
                      KernelModule::Body body) const;

  // While the body is printed.
  /// Where the group's buffers are, as the kernel's arguments.
  void setBuffers(mlir::ValueRange values) {
    buffers.assign(values.begin(), values.end());
  }
  /// The code of `op` at `point` (an index for each loop), with the operands
  /// that `values` lacks loaded. The result is entered into `values`.
  void emitOp(Emitter &e, mlir::Operation *op,
              llvm::ArrayRef<mlir::Value> point, PointValues &values);
  /// The operand of a member at `point`.
  mlir::Value getOperand(Emitter &e, mlir::Operation *op, mlir::Value operand,
                         llvm::ArrayRef<mlir::Value> point,
                         PointValues &values);
  void storeOutput(Emitter &e, mlir::Value output, mlir::Value value,
                   llvm::ArrayRef<mlir::Value> point);
  mlir::Value loadOutput(Emitter &e, mlir::Value output,
                         llvm::ArrayRef<mlir::Value> point);

private:
  /// One way of reading or writing a buffer.
  struct Use {
    unsigned buffer;
    mlir::Type elementType;
    plan::Access access;
  };
  using UseKey = std::pair<mlir::Operation *, mlir::Value>;

  void addOperand(mlir::Operation *op, mlir::Value operand);
  unsigned addUse(mlir::Operation *op, mlir::Value value);
  static int64_t getAlignment(Emitter &e, const Use &use);
  mlir::Value load(Emitter &e, const Use &use,
                   llvm::ArrayRef<mlir::Value> point);

  const plan::Group &group;
  StorageOf storageOf;
  llvm::SmallVector<Use> uses;
  /// Operands from outside and outputs: (member, value) to use.
  llvm::MapVector<UseKey, unsigned> useOf;
  /// Operands that are one number.
  llvm::DenseMap<mlir::Value, mlir::Attribute> splats;
  llvm::MapVector<unsigned, unsigned> bufferOfStorage;
  llvm::SmallVector<KernelOperand> operands;
  plan::CollapsedSpace space;
  llvm::SmallVector<mlir::Value> buffers;
};

/// One reduction while a loop runs: how values combine.
class Accumulation {
public:
  Accumulation(mlir::Operation *op);
  /// What combines with any value to that value.
  mlir::Value getInit(Emitter &e) const;
  mlir::Value combine(Emitter &e, mlir::Value x, mlir::Value y) const;
  /// One value of the lanes of `x`, in a fixed tree.
  mlir::Value acrossLanes(Emitter &e, mlir::Value x) const;
  /// The result of the operation, rounded to its type.
  mlir::Value finish(Emitter &e, mlir::Value x) const;
  mlir::Operation *getOp() const { return op; }

private:
  mlir::Operation *op;
  plan::Combine kind;
  mlir::Type type;
  bool isUnsigned;
  int64_t count;
};

/// Walks the elements [0, n) of a loop as `emitColumns` does and combines what
/// `body` gives for each, in several accumulators and a fixed order; continues
/// `accumulators` (as many as getNumAccumulators says, for each reduction).
class ColumnReducer {
public:
  ColumnReducer(Emitter &e, int64_t n, llvm::ArrayRef<Accumulation> reductions);
  using Body = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value)>;

  llvm::SmallVector<mlir::Value> getInit();
  llvm::SmallVector<mlir::Value>
  run(llvm::SmallVector<mlir::Value> accumulators, Body body);
  /// One value for each reduction.
  llvm::SmallVector<mlir::Value>
  finish(llvm::SmallVector<mlir::Value> accumulators);

private:
  void step(llvm::MutableArrayRef<mlir::Value> accumulators, int64_t which,
            llvm::ArrayRef<mlir::Value> values);

  Emitter &e;
  int64_t n, unroll;
  llvm::ArrayRef<Accumulation> reductions;
};

// Printers (MapKernel.cpp, RowsKernel.cpp, ReduceKernel.cpp).
KernelCalls emitMapKernel(const plan::Group &group, KernelModule &kernels,
                          StorageOf storageOf);
KernelCalls emitRowsKernel(const plan::Group &group, KernelModule &kernels,
                           StorageOf storageOf);
KernelCalls emitReduceKernel(const plan::Group &group, KernelModule &kernels,
                             StorageOf storageOf);

} // namespace amp::cpu

#endif // AMP_CODEGEN_CPU_GROUPCODE_H
