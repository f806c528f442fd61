//===- AsyncCopy.cpp - cp.async -------------------------------------------===//
// A copy lands at the wait that covers it and not before; until then its
// target holds NaN and counts as in flight.
//===----------------------------------------------------------------------===//

#include "Access.h"
#include "Decoder.h"
#include "MemoryOperands.h"
#include <cstring>

using namespace amp::ptx;

/// s: shared address, global address, bytes to read, predicate to ignore the
/// source; imm and list[0] the offsets, `count` the bytes.
static void startCopy(Context &context, const Inst &inst) {
  const uint64_t *to = context.row<uint64_t>(inst.s[0]),
                 *from = context.row<uint64_t>(inst.s[1]);
  const uint32_t *sizes = context.row<uint32_t>(inst.s[2]);
  uint32_t ignored = context.predicates[inst.s[3]];
  int64_t fromOffset = static_cast<int32_t>(context.lists()[inst.list]);
  uint32_t bytes = inst.flags, landing = 0, reading = 0;
  uint64_t targets[numLanes], sources[numLanes];
  SharedMemory &shared = context.block->shared;
  for (unsigned lane = 0; lane < numLanes; ++lane) {
    if (!context.isActive(lane))
      continue;
    targets[lane] = to[lane] + inst.imm;
    sources[lane] = from[lane] + fromOffset;
    uint32_t read = ignored >> lane & 1 ? 0 : std::min(sizes[lane], bytes);
    if (!checkSharedBounds(context, inst, lane, targets[lane], bytes, bytes))
      continue;
    if (sources[lane] & (bytes - 1)) {
      context.report(inst, FindingKind::Misaligned, lane, sources[lane],
                     "source of an asynchronous copy is not aligned to its "
                     "size");
      continue;
    }
    if (read &&
        !checkGlobalRange(context, inst, lane, sources[lane], read, true))
      continue;
    landing |= uint32_t(1) << lane;
    reading |= uint32_t(read == bytes) << lane;
    uint32_t at = static_cast<uint32_t>(targets[lane]);
    context.warp->copies.push_back({at, sources[lane],
                                    static_cast<uint8_t>(bytes),
                                    static_cast<uint8_t>(read)});
    if (!context.checks)
      continue;
    noteSharedWrite(context, inst, lane, at, bytes);
    std::memset(shared.states() + at, uint8_t(ByteState::InFlight), bytes);
    std::memset(shared.data() + at, 0xff, bytes);
  }
  context.counters.asyncCopies++;
  if (context.checks && landing)
    countBanks(context, inst, targets, landing, bytes);
  if (context.checks && reading)
    countSectors(context, inst, sources, reading, bytes, false);
}

static void commitCopies(Context &context, const Inst &) {
  context.warp->copyGroups.push_back(context.warp->copies.size());
}

static void land(Context &context, const Inst &inst, const PendingCopy &copy) {
  SharedMemory &shared = context.block->shared;
  uint8_t *to = shared.data() + copy.destination;
  std::memcpy(to, reinterpret_cast<const void *>(copy.source),
              copy.sourceBytes);
  std::memset(to + copy.sourceBytes, 0, copy.bytes - copy.sourceBytes);
  if (!context.checks)
    return;
  std::memset(shared.states() + copy.destination, uint8_t(ByteState::Written),
              copy.bytes);
  noteSharedWrite(context, inst, context.getFirstLane(), copy.destination,
                  copy.bytes);
}

/// The copies before `end`, of `groups` whole groups, land.
static void landCopies(Context &context, const Inst &inst, size_t end,
                       size_t groups) {
  Warp &warp = *context.warp;
  for (size_t i = 0; i < end; ++i)
    land(context, inst, warp.copies[i]);
  warp.copies.erase(warp.copies.begin(),
                    warp.copies.begin() + static_cast<std::ptrdiff_t>(end));
  warp.copyGroups.erase(warp.copyGroups.begin(),
                        warp.copyGroups.begin() +
                            static_cast<std::ptrdiff_t>(groups));
  for (size_t &group : warp.copyGroups)
    group -= end;
}

void amp::ptx::landAllCopies(Context &context, const Inst &inst) {
  landCopies(context, inst, context.warp->copies.size(),
             context.warp->copyGroups.size());
}

/// All but the last `imm` groups land.
static void waitCopies(Context &context, const Inst &inst) {
  const std::vector<size_t> &groups = context.warp->copyGroups;
  size_t keep = static_cast<size_t>(inst.imm);
  size_t done = groups.size() > keep ? groups.size() - keep : 0;
  landCopies(context, inst, done ? groups[done - 1] : 0, done);
}

static void decodeWait(Decoder &decoder, bool all) {
  decoder.expectOperands(all ? 0 : 1, all ? 0 : 1);
  if (all) {
    decoder.emit(landAllCopies);
    return;
  }
  int64_t keep = decoder.constantOperand(decoder.operand(0));
  decoder.emit(waitCopies).imm = keep;
}

static void decodeStart(Decoder &decoder) {
  Modifiers &modifiers = decoder.modifiers;
  if (!modifiers.take("global") || takeSpace(modifiers) != Space::Shared)
    decoder.failUnknown();
  bool isCg = modifiers.has("cg");
  bool hasHint = takeCacheHints(modifiers);
  decoder.expectOperands(3, 4 + hasHint);
  int64_t toOffset, fromOffset;
  uint32_t to = decoder.address(decoder.operand(0), Space::Shared, toOffset);
  uint32_t from =
      decoder.address(decoder.operand(1), Space::Global, fromOffset);
  int64_t bytes = decoder.constantOperand(decoder.operand(2));
  if ((bytes != 4 && bytes != 8 && bytes != 16) || (isCg && bytes != 16))
    decoder.fail("an asynchronous copy moves 4, 8 or 16 bytes (.cg: 16)");
  uint32_t sizes = decoder.constantRow(static_cast<uint64_t>(bytes), 4);
  uint32_t ignored = Program::never;
  if (decoder.getNumOperands() > 3u + hasHint) {
    if (decoder.isPredicate(decoder.operand(3)))
      ignored = decoder.predicateSource(decoder.operand(3));
    else
      sizes = decoder.sourceRow(3, Type::U32);
  }
  Inst &inst = decoder.emit(startCopy);
  inst.s[0] = to;
  inst.s[1] = from;
  inst.s[2] = sizes;
  inst.s[3] = ignored;
  inst.imm = toOffset;
  inst.flags = static_cast<uint16_t>(bytes);
  decoder.addToList(static_cast<uint32_t>(fromOffset));
}

void amp::ptx::decodeAsyncCopy(Decoder &decoder) {
  Modifiers &modifiers = decoder.modifiers;
  if (!modifiers.take("async"))
    decoder.failUnknown();
  if (modifiers.take("bulk"))
    return decodeBulkCopy(decoder);
  if (modifiers.take("commit_group")) {
    decoder.expectOperands(0, 0);
    decoder.emit(commitCopies);
    return;
  }
  if (modifiers.take("wait_group"))
    return decodeWait(decoder, false);
  if (modifiers.take("wait_all"))
    return decodeWait(decoder, true);
  if (modifiers.has("mbarrier"))
    return decodeMbarrier(decoder);
  decodeStart(decoder);
}
