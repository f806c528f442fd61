//===- BulkCopy.cpp - cp.async.bulk and its tensor forms ------------------===//
// Copies into shared memory land when their mbarrier is waited for, copies out
// of it read their source when their group is waited for: as late as they may.
//===----------------------------------------------------------------------===//

#include "Access.h"
#include "Decoder.h"
#include "Mbarrier.h"
#include "MemoryOperands.h"
#include "Tile.h"
#include <cstring>

using namespace amp::ptx;

namespace {
constexpr uint16_t isTensorFlag = 1;
constexpr uint32_t plainAlignment = 16, tensorAlignment = 128;
} // namespace

/// The map at a generic address or among the parameters.
static bool loadMap(Context &context, const Inst &inst, unsigned lane,
                    uint64_t address, TensorMap &map) {
  const Program &program = *context.program;
  const uint8_t *bytes = nullptr;
  uint64_t offset = address >> windowShift == paramWindow >> windowShift
                        ? address - paramWindow
                        : address;
  if (offset + tensorMapBytes <= program.parameterBytes)
    bytes = static_cast<const uint8_t *>(context.launch->parameters) + offset;
  else if (address >> windowShift == constWindow >> windowShift &&
           address - constWindow + tensorMapBytes <= program.constBytes)
    bytes = program.constBank + (address - constWindow);
  else if (checkGlobalRange(context, inst, lane, address, tensorMapBytes, true))
    bytes = reinterpret_cast<const uint8_t *>(address);
  else
    return false;
  if (map.decode(bytes))
    return true;
  context.report(inst, FindingKind::Unsupported, lane, address,
                 "no tensor map that cuTensorMapEncodeTiled made is here");
  return false;
}

/// What one lane's instruction copies. The list: coordinates; s: shared
/// address, global address or map, bytes, mbarrier.
static bool makeBulk(Context &context, const Inst &inst, unsigned lane,
                     PendingBulk &bulk) {
  uint64_t shared = context.row<uint64_t>(inst.s[0])[lane] + inst.imm;
  uint64_t global = context.row<uint64_t>(inst.s[1])[lane];
  if (shared >> windowShift == sharedWindow >> windowShift)
    shared -= sharedWindow;
  bulk.warp = context.warp->id;
  bulk.inst = &inst;
  bulk.isTensor = inst.flags & isTensorFlag;
  uint32_t alignment = bulk.isTensor ? tensorAlignment : plainAlignment;
  if (bulk.isTensor) {
    if (!loadMap(context, inst, lane, global, bulk.map))
      return false;
    if (bulk.map.rank != inst.count) {
      context.report(inst, FindingKind::Unsupported, lane, global,
                     "the tensor map has another rank");
      return false;
    }
    for (unsigned i = 0; i < inst.count; ++i)
      bulk.coordinates[i] =
          context.row<int32_t>(context.lists()[inst.list + i])[lane];
    bulk.bytes = getTileBytes(bulk.map);
  } else {
    bulk.global = global;
    bulk.bytes = context.row<uint32_t>(inst.s[2])[lane];
    if (bulk.bytes % plainAlignment || global % plainAlignment) {
      context.report(inst, FindingKind::Misaligned, lane, global,
                     "bulk copies move multiples of 16 bytes");
      return false;
    }
  }
  bulk.shared = static_cast<uint32_t>(shared);
  return checkSharedBounds(context, inst, lane, shared, bulk.bytes, alignment);
}

//===----------------------------------------------------------------------===//
// Into shared memory
//===----------------------------------------------------------------------===//

static void startLoad(Context &context, const Inst &inst) {
  Block &block = *context.block;
  for (unsigned lane = 0; lane < numLanes; ++lane) {
    PendingBulk bulk;
    if (!context.isActive(lane) || !makeBulk(context, inst, lane, bulk))
      continue;
    uint64_t barrier = context.row<uint64_t>(inst.s[3])[lane] + inst.imm2;
    if (barrier >> windowShift == sharedWindow >> windowShift)
      barrier -= sharedWindow;
    if (!findMbarrier(context, inst, lane, barrier))
      continue;
    bulk.barrier = static_cast<uint32_t>(barrier);
    context.counters.tensorCopies++;
    if (context.checks && bulk.bytes) {
      noteSharedWrite(context, inst, lane, bulk.shared, bulk.bytes);
      block.shared.markAsync(bulk.shared, bulk.bytes);
      std::memset(block.shared.states() + bulk.shared,
                  uint8_t(ByteState::InFlight), bulk.bytes);
      std::memset(block.shared.data() + bulk.shared, 0xff, bulk.bytes);
      bulk.clock = block.shared.getClock(bulk.warp);
    }
    block.bulks.push_back(std::move(bulk));
  }
}

void amp::ptx::landBulkCopies(Context &context, uint32_t offset) {
  Block &block = *context.block;
  Mbarrier &barrier = block.mbarriers[offset];
  for (size_t i = 0; i < block.bulks.size();) {
    if (block.bulks[i].barrier != offset || !block.bulks[i].isAwaited) {
      block.bulks[i].isAwaited |= block.bulks[i].barrier == offset;
      ++i;
      continue;
    }
    PendingBulk bulk = std::move(block.bulks[i]);
    block.bulks.erase(block.bulks.begin() + static_cast<std::ptrdiff_t>(i));
    copyToShared(context, bulk);
    if (context.checks)
      std::memset(block.shared.states() + bulk.shared,
                  uint8_t(ByteState::Written), bulk.bytes);
    joinClock(barrier.arriving, bulk.clock);
    barrier.transactions -= bulk.bytes;
    completePhase(block, barrier);
  }
}

//===----------------------------------------------------------------------===//
// Out of shared memory
//===----------------------------------------------------------------------===//

static void startStore(Context &context, const Inst &inst) {
  for (unsigned lane = 0; lane < numLanes; ++lane) {
    PendingBulk bulk;
    if (!context.isActive(lane) || !makeBulk(context, inst, lane, bulk))
      continue;
    context.counters.tensorCopies++;
    if (context.checks && bulk.bytes) {
      noteSharedRead(context, inst, lane, bulk.shared, bulk.bytes);
      reportConflict(
          context, inst, lane,
          context.block->shared.readAsync(bulk.warp, bulk.shared, bulk.bytes));
    }
    context.warp->bulkStores.push_back(std::move(bulk));
  }
}

static void commitStores(Context &context, const Inst &) {
  context.warp->bulkGroups.push_back(context.warp->bulkStores.size());
}

/// The stores of all but the last `imm` groups are done. A wait that is for
/// their reads only does no less.
static void waitStores(Context &context, const Inst &inst) {
  Warp &warp = *context.warp;
  size_t groups = warp.bulkGroups.size();
  size_t keep = static_cast<size_t>(inst.imm);
  size_t done = groups > keep ? groups - keep : 0;
  size_t end = done ? warp.bulkGroups[done - 1] : 0;
  for (size_t i = 0; i < end; ++i) {
    PendingBulk &bulk = warp.bulkStores[i];
    if (context.checks && bulk.bytes)
      reportConflict(
          context, *bulk.inst, context.getFirstLane(),
          context.block->shared.read(warp.id, bulk.shared, bulk.bytes));
    copyFromShared(context, bulk);
  }
  warp.bulkStores.erase(warp.bulkStores.begin(),
                        warp.bulkStores.begin() +
                            static_cast<std::ptrdiff_t>(end));
  warp.bulkGroups.erase(warp.bulkGroups.begin(),
                        warp.bulkGroups.begin() +
                            static_cast<std::ptrdiff_t>(done));
  for (size_t &group : warp.bulkGroups)
    group -= end;
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

static unsigned takeRank(Modifiers &modifiers) {
  static constexpr std::string_view names[] = {"1d", "2d", "3d", "4d", "5d"};
  for (unsigned i = 0; i < maxTensorRank; ++i)
    if (modifiers.take(names[i]))
      return i + 1;
  return 0;
}

/// The map and coordinates of [map, {c0, c1, ...}].
static uint32_t takeTensor(Decoder &decoder, const Operand &memory,
                           unsigned rank, std::vector<uint32_t> &coordinates) {
  if (memory.kind != OperandKind::Memory || memory.items.size() != 2 ||
      memory.items[1].items.size() != rank)
    decoder.fail("expected [map, {one coordinate per dimension}]");
  int64_t offset;
  Operand base = memory;
  base.items.resize(1);
  uint32_t map = decoder.address(base, Space::Generic, offset);
  if (offset)
    decoder.fail("the address of a tensor map has no offset");
  for (const Operand &coordinate : memory.items[1].items)
    coordinates.push_back(decoder.sourceRow(coordinate, Type::S32));
  return map;
}

static void decodeLoad(Decoder &decoder, unsigned rank, bool hasHint) {
  Modifiers &modifiers = decoder.modifiers;
  if (!modifiers.take("mbarrier::complete_tx::bytes"))
    decoder.failUnknown();
  if (modifiers.has("multicast::cluster"))
    decoder.fail("multicast copies need clusters, which are not emulated");
  size_t count = rank ? 3 : 4;
  decoder.expectOperands(count, count + hasHint);
  int64_t offset, globalOffset = 0, barrierOffset;
  std::vector<uint32_t> coordinates;
  uint32_t shared = decoder.address(decoder.operand(0), Space::Shared, offset);
  uint32_t global =
      rank ? takeTensor(decoder, decoder.operand(1), rank, coordinates)
           : decoder.address(decoder.operand(1), Space::Global, globalOffset);
  if (globalOffset)
    decoder.fail("the source of a bulk copy has no offset here");
  uint32_t bytes = rank ? 0 : decoder.sourceRow(2, Type::U32);
  uint32_t barrier = decoder.address(decoder.operand(rank ? 2 : 3),
                                     Space::Shared, barrierOffset);
  Inst &inst = decoder.emit(startLoad);
  inst.s[0] = shared;
  inst.s[1] = global;
  inst.s[2] = bytes;
  inst.s[3] = barrier;
  inst.imm = offset;
  inst.imm2 = static_cast<int32_t>(barrierOffset);
  inst.flags = rank ? isTensorFlag : 0;
  for (uint32_t row : coordinates)
    decoder.addToList(row);
}

static void decodeStore(Decoder &decoder, unsigned rank, bool hasHint) {
  if (!decoder.modifiers.take("bulk_group"))
    decoder.failUnknown();
  size_t count = rank ? 2 : 3;
  decoder.expectOperands(count, count + hasHint);
  int64_t offset, globalOffset = 0;
  std::vector<uint32_t> coordinates;
  uint32_t global =
      rank ? takeTensor(decoder, decoder.operand(0), rank, coordinates)
           : decoder.address(decoder.operand(0), Space::Global, globalOffset);
  if (globalOffset)
    decoder.fail("the target of a bulk copy has no offset here");
  uint32_t shared = decoder.address(decoder.operand(1), Space::Shared, offset);
  uint32_t bytes = rank ? 0 : decoder.sourceRow(2, Type::U32);
  Inst &inst = decoder.emit(startStore);
  inst.s[0] = shared;
  inst.s[1] = global;
  inst.s[2] = bytes;
  inst.imm = offset;
  inst.flags = rank ? isTensorFlag : 0;
  for (uint32_t row : coordinates)
    decoder.addToList(row);
}

void amp::ptx::decodeBulkCopy(Decoder &decoder) {
  Modifiers &modifiers = decoder.modifiers;
  if (modifiers.take("commit_group")) {
    decoder.expectOperands(0, 0);
    decoder.emit(commitStores);
    return;
  }
  if (modifiers.take("wait_group")) {
    modifiers.take("read");
    decoder.expectOperands(1, 1);
    int64_t keep = decoder.constantOperand(decoder.operand(0));
    decoder.emit(waitStores).imm = keep;
    return;
  }
  if (modifiers.take("prefetch"))
    return decodeNothing(decoder);
  unsigned rank = modifiers.take("tensor") ? takeRank(modifiers) : 0;
  modifiers.take("tile");
  bool hasHint = takeCacheHints(modifiers);
  std::string_view to = modifiers.takeFirst(), from = modifiers.takeFirst();
  bool toShared = to.substr(0, 6) == "shared" && from == "global";
  if (toShared)
    return decodeLoad(decoder, rank, hasHint);
  if (to == "global" && from.substr(0, 6) == "shared")
    return decodeStore(decoder, rank, hasHint);
  decoder.failUnknown();
}
