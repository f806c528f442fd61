//===- Groups.cpp - Kernels of the groups of a plan -----------------------===//
//
// One printer for each kind of group, a registry for single operations.
//
//===----------------------------------------------------------------------===//

#include "amp/Codegen/Cpu/Groups.h"
#include "GroupCode.h"
#include "MovementKernels.h"
#include "amp/Codegen/Plan/Entry.h"

using namespace mlir;
using namespace amp;
using namespace amp::cpu;

GroupKernels::GroupKernels(const KernelRegistry *registry, StringRef target)
    : registry(registry), target(target) {
  addMovementKernels(builtin);
}

FailureOr<KernelCalls> GroupKernels::emit(const plan::Group &group,
                                          KernelModule &kernels,
                                          StorageOf storageOf) const {
  switch (group.kind) {
  case plan::GroupKind::Map:
    return emitMapKernel(group, kernels, storageOf);
  case plan::GroupKind::Rows:
    return emitRowsKernel(group, kernels, storageOf);
  case plan::GroupKind::Reduce:
    return emitReduceKernel(group, kernels, storageOf);
  case plan::GroupKind::Custom:
    break;
  }
  Operation *op = group.ops.front();
  const KernelEmitter *emitter = registry ? registry->lookup(op) : nullptr;
  if (!emitter)
    emitter = builtin.lookup(op);
  if (!emitter)
    return op->emitError() << "cannot compile " << plan::describe(op) << " for "
                           << target << ": it has no kernel";
  return (*emitter)(op, kernels);
}
