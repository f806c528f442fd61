//===- Positions.cpp - Windows of a convolution, numbered -----------------===//
//
// Copies between numbered positions and memory, run by run.
//
//===----------------------------------------------------------------------===//

#include "Positions.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <numeric>

using namespace mlir;
using namespace amp::cpu;

/// Copies of up to this many runs are printed one after the other.
static constexpr int64_t unrolledRuns = 8;

int64_t PositionGrid::run() const {
  if (strides[2] != 1)
    return 1;
  int64_t length = counts[2];
  for (int i = 1; i >= 0 && strides[i] == length; --i)
    length *= counts[i];
  if (imageStride == length && length == perImage())
    length *= images;
  return std::gcd(length, lanes);
}

std::string PositionGrid::getKey() const {
  std::string key;
  llvm::raw_string_ostream stream(key);
  stream << images << "x" << imageStride << "+" << base;
  for (const Spatial *part : {&counts, &strides}) {
    stream << " ";
    llvm::interleave(*part, stream, ",");
  }
  return key;
}

static Value emitOffset(Code &code, const PositionGrid &grid, Value position) {
  Value offset = code.number(grid.base);
  for (int i = 2; i >= 0; --i) {
    Value at = code.rem(position, grid.counts[i]);
    position = code.div(position, grid.counts[i]);
    offset = code.add(offset, code.mul(at, grid.strides[i]));
  }
  return code.add(offset, code.mul(position, grid.imageStride));
}

void amp::cpu::emitOffsets(Code &code, const PositionGrid &grid, Value first,
                           Value runs, Value table) {
  int64_t run = grid.run();
  code.loop(code.number(0), runs, 1, [&](Value i) {
    Value position = code.min(code.add(first, code.mul(i, run)),
                              code.number(grid.total() - run));
    code.store(emitOffset(code, grid, position),
               code.at(table, i, code.builder.getI64Type()));
  });
}

static void copyRun(Code &code, int64_t run, Value from, Type fromType,
                    Value to, Type toType) {
  // Bits are moved, not numbers: LLVM would widen and round short vectors of a
  // half type that the processor does not know.
  if (fromType == toType && fromType.getIntOrFloatBitWidth() == 16)
    fromType = toType = code.builder.getI16Type();
  Value value = run == 1 ? code.load(from, fromType)
                         : code.loadVector(from, fromType, run, run);
  code.store(fromType == toType ? value : code.convert(value, toType), to);
}

static void gatherRun(Code &code, int64_t run, Value i, Value table, Value from,
                      Type fromType, Value to, Type toType) {
  copyRun(code, run, code.at(from, code.lookUp(table, i), fromType), fromType,
          code.at(to, code.mul(i, run), toType), toType);
}

void amp::cpu::emitGather(Code &code, int64_t run, int64_t runs, Value table,
                          Value from, Type fromType, Value to, Type toType) {
  if (runs > unrolledRuns)
    return emitGather(code, run, code.number(runs), table, from, fromType, to,
                      toType);
  for (int64_t i = 0; i < runs; ++i)
    gatherRun(code, run, code.number(i), table, from, fromType, to, toType);
}

void amp::cpu::emitGather(Code &code, int64_t run, Value runs, Value table,
                          Value from, Type fromType, Value to, Type toType) {
  code.loop(code.number(0), runs, 1, [&](Value i) {
    gatherRun(code, run, i, table, from, fromType, to, toType);
  });
}

void amp::cpu::emitScatter(Code &code, int64_t run, Value runs, Value table,
                           Value from, Value to, Type type) {
  code.loop(code.number(0), runs, 1, [&](Value i) {
    copyRun(code, run, code.at(from, code.mul(i, run), type), type,
            code.at(to, code.lookUp(table, i), type), type);
  });
}
