//===- MatrixMemory.cpp - ldmatrix, stmatrix, movmatrix -------------------===//
// A row of 32-bit registers is an 8x8 matrix of 16-bit elements in memory
// order: lane 4r+c holds elements 2c and 2c+1 of row r.
//===----------------------------------------------------------------------===//

#include "Access.h"
#include "Decoder.h"
#include "MemoryOperands.h"
#include <cstring>

using namespace amp::ptx;

static constexpr uint32_t rowBytes = 16, rows = 8;

static void transpose(uint16_t to[64], const uint16_t from[64]) {
  for (unsigned row = 0; row < rows; ++row)
    for (unsigned column = 0; column < rows; ++column)
      to[column * rows + row] = from[row * rows + column];
}

/// Offsets in shared memory of lanes 0 to 8 * count.
static bool loadRowAddresses(Context &context, const Inst &inst,
                             uint64_t offsets[numLanes]) {
  if (!context.isConverged(inst, allLanes))
    return false;
  const uint64_t *base = context.row<uint64_t>(inst.s[0]);
  for (unsigned lane = 0; lane < numLanes; ++lane) {
    offsets[lane] = base[lane] + static_cast<uint64_t>(inst.imm);
    if ((inst.flags & SpaceMask) == uint16_t(Space::Generic))
      offsets[lane] -= sharedWindow;
  }
  context.counters.matrixLoads++;
  return true;
}

static void countRows(Context &context, const Inst &inst,
                      const uint64_t *offsets) {
  uint32_t lanes =
      inst.count == 4 ? allLanes : (uint32_t(1) << rows * inst.count) - 1;
  if (context.checks)
    countBanks(context, inst, offsets, lanes, rowBytes);
}

template <bool Transposed>
static void loadMatrix(Context &context, const Inst &inst) {
  uint64_t offsets[numLanes];
  if (!loadRowAddresses(context, inst, offsets))
    return;
  uint8_t *shared = context.block->shared.data();
  for (unsigned i = 0; i < inst.count; ++i) {
    uint16_t matrix[64];
    std::memset(matrix, 0xff, sizeof(matrix));
    for (unsigned row = 0; row < rows; ++row) {
      unsigned lane = rows * i + row;
      uint64_t offset = offsets[lane];
      if (!checkSharedBounds(context, inst, lane, offset, rowBytes, rowBytes))
        continue;
      if (context.checks)
        noteSharedRead(context, inst, lane, static_cast<uint32_t>(offset),
                       rowBytes);
      std::memcpy(matrix + row * rows, shared + offset, rowBytes);
    }
    uint16_t *d = context.row<uint16_t>(context.lists()[inst.list + i]);
    if (Transposed)
      transpose(d, matrix);
    else
      std::memcpy(d, matrix, sizeof(matrix));
  }
  countRows(context, inst, offsets);
}

template <bool Transposed>
static void storeMatrix(Context &context, const Inst &inst) {
  uint64_t offsets[numLanes];
  if (!loadRowAddresses(context, inst, offsets))
    return;
  uint8_t *shared = context.block->shared.data();
  for (unsigned i = 0; i < inst.count; ++i) {
    const uint16_t *s = context.row<uint16_t>(context.lists()[inst.list + i]);
    uint16_t matrix[64];
    if (Transposed)
      transpose(matrix, s);
    else
      std::memcpy(matrix, s, sizeof(matrix));
    for (unsigned row = 0; row < rows; ++row) {
      unsigned lane = rows * i + row;
      uint64_t offset = offsets[lane];
      if (!checkSharedBounds(context, inst, lane, offset, rowBytes, rowBytes))
        continue;
      if (context.checks)
        noteSharedWrite(context, inst, lane, static_cast<uint32_t>(offset),
                        rowBytes);
      std::memcpy(shared + offset, matrix + row * rows, rowBytes);
    }
  }
  countRows(context, inst, offsets);
}

static void moveMatrix(Context &context, const Inst &inst) {
  if (!context.isConverged(inst, allLanes))
    return;
  uint16_t matrix[64];
  std::memcpy(matrix, context.row<uint16_t>(inst.s[0]), sizeof(matrix));
  transpose(context.row<uint16_t>(inst.d[0]), matrix);
}

static void decodeMoveMatrix(Decoder &decoder) {
  bool known = decoder.modifiers.takeAll({"sync", "aligned", "m8n8", "trans"});
  decoder.modifiers.takeType();
  decoder.expectOperands(2, 2);
  if (!known)
    decoder.failUnknown();
  uint32_t from = decoder.sourceRow(1, Type::B32);
  uint32_t to = decoder.destination(0, Type::B32);
  Inst &inst = decoder.emit(moveMatrix);
  inst.s[0] = from;
  inst.d[0] = to;
}

void amp::ptx::decodeMatrixMemory(Decoder &decoder) {
  Modifiers &modifiers = decoder.modifiers;
  if (modifiers.getBase() == "movmatrix")
    return decodeMoveMatrix(decoder);
  bool isStore = modifiers.getBase() == "stmatrix";
  Space space = takeSpace(modifiers);
  bool known = modifiers.takeAll({"sync", "aligned", "m8n8"});
  unsigned count = modifiers.take("x4")   ? 4
                   : modifiers.take("x2") ? 2
                   : modifiers.take("x1") ? 1
                                          : 0;
  bool transposed = modifiers.take("trans");
  Type type = modifiers.takeType();
  decoder.expectOperands(2, 2);
  if (!known || !count || type != Type::B16 ||
      (space != Space::Shared && space != Space::Generic))
    decoder.failUnknown();
  const Operand &list = decoder.operand(isStore ? 1 : 0);
  std::vector<Operand> values = list.kind == OperandKind::Vector
                                    ? list.items
                                    : std::vector<Operand>{list};
  if (values.size() != count)
    decoder.failUnknown();
  int64_t offset;
  uint32_t address =
      decoder.address(decoder.operand(isStore ? 0 : 1), space, offset);
  std::vector<uint32_t> matrixRows;
  for (const Operand &value : values)
    matrixRows.push_back(isStore ? decoder.sourceRow(value, Type::B32)
                                 : decoder.destination(value, Type::B32));
  Inst &inst = decoder.emit(
      isStore ? (transposed ? storeMatrix<true> : storeMatrix<false>)
              : (transposed ? loadMatrix<true> : loadMatrix<false>));
  inst.s[0] = address;
  inst.imm = offset;
  inst.flags = static_cast<uint16_t>(space);
  for (uint32_t row : matrixRows)
    decoder.addToList(row);
}
