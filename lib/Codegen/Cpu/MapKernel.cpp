//===- MapKernel.cpp - Elementwise groups ---------------------------------===//
//
// One pass over the space: load, compute in registers, store.
//
//===----------------------------------------------------------------------===//

#include "GroupCode.h"

using namespace mlir;
using namespace amp;
using namespace amp::cpu;

static void printPoint(GroupCode &code, Emitter &e, ArrayRef<Value> point) {
  PointValues values;
  for (Operation *op : code.getGroup().ops)
    code.emitOp(e, op, point, values);
  // All loads come before all stores: a result may lie in an operand's memory.
  for (Value output : code.getGroup().outputs)
    code.storeOutput(e, output, values.members.lookup(output), point);
}

KernelCalls amp::cpu::emitMapKernel(const plan::Group &group,
                                    KernelModule &kernels,
                                    StorageOf storageOf) {
  SmallVector<int64_t> kinds(group.space.size(), 0);
  GroupCode code(group, kinds, storageOf);
  PointLoops loops(code.getSizes());
  KernelCalls result;
  result.calls.push_back(code.makeCall(
      kernels, "map", loops.getIterations(), loops.getGrain(),
      [&](ImplicitLocOpBuilder &b, ValueRange buffers, Value lo, Value hi) {
        code.setBuffers(buffers);
        loops.print(b, lo, hi, [&](Emitter &e, ArrayRef<Value> point) {
          printPoint(code, e, point);
        });
      }));
  return result;
}
