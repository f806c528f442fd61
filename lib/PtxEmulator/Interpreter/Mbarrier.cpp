//===- Mbarrier.cpp - mbarrier --------------------------------------------===//
// Arrivals and bytes complete a phase. A wait that does not succeed lets other
// warps run; what it waits for lands when somebody waits for it.
//===----------------------------------------------------------------------===//

#include "Mbarrier.h"
#include "Access.h"
#include "Decoder.h"
#include "MemoryOperands.h"

using namespace amp::ptx;

static constexpr uint32_t objectBytes = 8;
static constexpr uint32_t maxCount = (1u << 20) - 1;

namespace {
enum Operation : uint16_t {
  Arrives = 1,
  Expects = 2,
  Drops = 4,
  GivesState = 8,
  ByParity = 16,
  IsGeneric = 32
};
} // namespace

Mbarrier *amp::ptx::findMbarrier(Context &context, const Inst &inst,
                                 unsigned lane, uint64_t offset) {
  Block &block = *context.block;
  auto it = block.mbarriers.find(static_cast<uint32_t>(offset));
  if (it == block.mbarriers.end() || offset > block.shared.size()) {
    context.report(inst, FindingKind::Barrier, lane, offset,
                   "there is no initialised mbarrier at this address");
    return nullptr;
  }
  Mbarrier &barrier = it->second;
  uint32_t warp = context.warp->id;
  if (context.checks && barrier.owner != warp &&
      block.shared.getClock(warp)[barrier.owner] < barrier.made)
    context.report(inst, FindingKind::Race, lane, offset,
                   "no barrier orders this after the mbarrier's init");
  return &barrier;
}

void amp::ptx::completePhase(Block &block, Mbarrier &barrier) {
  if (barrier.pending || barrier.transactions)
    return;
  barrier.pending = barrier.expected;
  ++barrier.phase;
  barrier.completed = barrier.arriving;
  block.progress++;
}

static uint64_t getOffset(const Context &context, const Inst &inst,
                          unsigned lane) {
  uint64_t address =
      context.row<uint64_t>(inst.s[0])[lane] + static_cast<uint64_t>(inst.imm);
  return inst.flags & IsGeneric ? address - sharedWindow : address;
}

static void initialise(Context &context, const Inst &inst) {
  const uint32_t *counts = context.row<uint32_t>(inst.s[1]);
  SharedMemory &shared = context.block->shared;
  for (unsigned lane = 0; lane < numLanes; ++lane) {
    if (!context.isActive(lane))
      continue;
    uint64_t offset = getOffset(context, inst, lane);
    if (!checkSharedBounds(context, inst, lane, offset, objectBytes,
                           objectBytes))
      continue;
    if (counts[lane] == 0 || counts[lane] > maxCount)
      context.report(inst, FindingKind::Barrier, lane, counts[lane],
                     "an mbarrier counts 1 to 2^20 - 1 arrivals");
    Mbarrier made;
    made.expected = made.pending = counts[lane];
    made.owner = context.warp->id;
    made.made = shared.getClock(made.owner)[made.owner];
    context.block->mbarriers[static_cast<uint32_t>(offset)] = made;
  }
}

static void invalidate(Context &context, const Inst &inst) {
  for (unsigned lane = 0; lane < numLanes; ++lane)
    if (context.isActive(lane)) {
      uint64_t offset = getOffset(context, inst, lane);
      if (findMbarrier(context, inst, lane, offset))
        context.block->mbarriers.erase(static_cast<uint32_t>(offset));
    }
}

/// One lane's arrival of `count`.
static void arriveOnce(Context &context, const Inst &inst, unsigned lane,
                       Mbarrier &barrier, uint32_t count) {
  if (count > barrier.pending) {
    context.report(inst, FindingKind::Barrier, lane,
                   getOffset(context, inst, lane),
                   "more arrivals than the mbarrier's phase expects");
    return;
  }
  barrier.pending -= count;
  if (inst.flags & Drops)
    barrier.expected -= count;
  if (context.checks)
    joinClock(barrier.arriving,
              context.block->shared.getClock(context.warp->id));
}

/// s[1]: how many arrive, or how many bytes are expected.
static void arrive(Context &context, const Inst &inst) {
  const uint32_t *counts = context.row<uint32_t>(inst.s[1]);
  uint64_t *states =
      inst.flags & GivesState ? context.row<uint64_t>(inst.d[0]) : nullptr;
  for (unsigned lane = 0; lane < numLanes; ++lane) {
    if (!context.isActive(lane))
      continue;
    uint64_t offset = getOffset(context, inst, lane);
    Mbarrier *barrier = findMbarrier(context, inst, lane, offset);
    if (!barrier)
      continue;
    if (states)
      states[lane] = barrier->phase;
    if (inst.flags & Expects)
      barrier->transactions += counts[lane];
    if (inst.flags & Arrives)
      arriveOnce(context, inst, lane, *barrier,
                 inst.flags & Expects ? 1 : counts[lane]);
    context.block->progress++;
    completePhase(*context.block, *barrier);
  }
  if (context.checks)
    context.block->shared.advance(context.warp->id);
}

/// mbarrier.complete_tx: as a copy of s[1] bytes that lands.
static void completeBytes(Context &context, const Inst &inst) {
  const uint32_t *counts = context.row<uint32_t>(inst.s[1]);
  for (unsigned lane = 0; lane < numLanes; ++lane) {
    if (!context.isActive(lane))
      continue;
    Mbarrier *barrier =
        findMbarrier(context, inst, lane, getOffset(context, inst, lane));
    if (!barrier)
      continue;
    barrier->transactions -= counts[lane];
    completePhase(*context.block, *barrier);
  }
}

/// s[1]: a state (64 bits) or a parity (32 bits).
static void testWait(Context &context, const Inst &inst) {
  uint32_t done = 0;
  uint64_t landed = ~uint64_t(0);
  for (unsigned lane = 0; lane < numLanes; ++lane) {
    if (!context.isActive(lane))
      continue;
    uint64_t offset = getOffset(context, inst, lane);
    Mbarrier *barrier = findMbarrier(context, inst, lane, offset);
    if (!barrier) {
      done |= uint32_t(1) << lane; // do not hang on top of it
      continue;
    }
    if (offset != landed) // once for all lanes
      landBulkCopies(context, static_cast<uint32_t>(offset));
    landed = offset;
    bool isPast =
        inst.flags & ByParity
            ? (barrier->phase & 1) !=
                  (context.row<uint32_t>(inst.s[1])[lane] & 1)
            : barrier->phase != context.row<uint64_t>(inst.s[1])[lane];
    if (!isPast)
      continue;
    done |= uint32_t(1) << lane;
    if (context.checks)
      context.block->shared.acquire(context.warp->id, barrier->completed);
  }
  context.setPredicate(inst.d[0], done);
  // A program that does not look at the result goes on before what it waits
  // for is there.
  Warp &warp = *context.warp;
  bool isRepeated = warp.failedWait == &inst;
  warp.failedWait = done == context.mask ? nullptr : &inst;
  if (warp.failedWait && isRepeated)
    context.event = Event::Yield;
}

/// cp.async.mbarrier.arrive: when the copies so far have landed. They land now,
/// with the arrival, and so never later than the hardware's.
static void arriveAfterCopies(Context &context, const Inst &inst) {
  landAllCopies(context, inst);
  for (unsigned lane = 0; lane < numLanes; ++lane) {
    if (!context.isActive(lane))
      continue;
    Mbarrier *barrier =
        findMbarrier(context, inst, lane, getOffset(context, inst, lane));
    if (!barrier)
      continue;
    if (inst.imm2)
      ++barrier->pending; // the arrival is one more than expected
    arriveOnce(context, inst, lane, *barrier, 1);
    completePhase(*context.block, *barrier);
  }
  context.block->progress++;
  if (context.checks)
    context.block->shared.advance(context.warp->id);
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

static uint16_t takeObject(Decoder &decoder, const Operand &operand,
                           Space space, uint32_t &row, int64_t &offset) {
  if (space != Space::Shared && space != Space::Generic)
    decoder.failUnknown();
  row = decoder.address(operand, space, offset);
  return space == Space::Generic ? IsGeneric : 0;
}

static Inst &emitObject(Decoder &decoder, Handler handler, size_t operand,
                        Space space, uint16_t flags) {
  uint32_t row;
  int64_t offset;
  flags |= takeObject(decoder, decoder.operand(operand), space, row, offset);
  Inst &inst = decoder.emit(handler);
  inst.s[0] = row;
  inst.imm = offset;
  inst.flags = flags;
  return inst;
}

static void decodeArrive(Decoder &decoder, Space space, bool drops) {
  uint16_t flags = Arrives | (drops ? Drops : 0);
  if (decoder.modifiers.take("expect_tx"))
    flags |= Expects;
  decoder.modifiers.take("noComplete");
  // The state is optional for objects of the cluster.
  bool hasState = decoder.operand(0).kind != OperandKind::Memory;
  size_t at = hasState ? 1 : 0;
  decoder.expectOperands(at + 1, at + 2);
  bool hasCount = decoder.getNumOperands() > at + 1;
  if (flags & Expects && !hasCount)
    decoder.fail("expect_tx must say how many bytes");
  uint32_t count = hasCount ? decoder.sourceRow(at + 1, Type::U32)
                            : decoder.constantRow(1, 4);
  uint32_t state = 0;
  if (hasState && decoder.operand(0).kind != OperandKind::Sink) {
    flags |= GivesState;
    state = decoder.destination(0, Type::B64);
  }
  Inst &inst = emitObject(decoder, arrive, at, space, flags);
  inst.s[1] = count;
  inst.d[0] = state;
}

static void decodeWait(Decoder &decoder, Space space) {
  uint16_t flags = decoder.modifiers.take("parity") ? ByParity : 0;
  decoder.expectOperands(3, 4);
  uint32_t what =
      decoder.sourceRow(2, flags & ByParity ? Type::U32 : Type::B64);
  uint32_t to = decoder.predicateDestination(decoder.operand(0));
  Inst &inst = emitObject(decoder, testWait, 1, space, flags);
  inst.s[1] = what;
  inst.d[0] = to;
}

static void decodeCounted(Decoder &decoder, Handler handler, Space space,
                          uint16_t flags) {
  decoder.expectOperands(2, 2);
  uint32_t count = decoder.sourceRow(1, Type::U32);
  emitObject(decoder, handler, 0, space, flags).s[1] = count;
}

void amp::ptx::decodeMbarrier(Decoder &decoder) {
  Modifiers &modifiers = decoder.modifiers;
  Space space = takeSpace(modifiers);
  takeOrdering(modifiers);
  bool isCopy = modifiers.getBase() == "cp";
  if (isCopy)
    modifiers.take("mbarrier");
  std::string_view operation = modifiers.takeFirst();
  if (modifiers.takeType() != Type::B64)
    decoder.failUnknown();
  if (isCopy) {
    bool counts = !modifiers.take("noinc");
    if (operation != "arrive")
      decoder.failUnknown();
    decoder.expectOperands(1, 1);
    emitObject(decoder, arriveAfterCopies, 0, space, 0).imm2 = counts;
  } else if (operation == "init") {
    decodeCounted(decoder, initialise, space, 0);
  } else if (operation == "inval") {
    decoder.expectOperands(1, 1);
    emitObject(decoder, invalidate, 0, space, 0);
  } else if (operation == "arrive" || operation == "arrive_drop") {
    decodeArrive(decoder, space, operation == "arrive_drop");
  } else if (operation == "expect_tx") {
    decodeCounted(decoder, arrive, space, Expects);
  } else if (operation == "complete_tx") {
    decodeCounted(decoder, completeBytes, space, 0);
  } else if (operation == "test_wait" || operation == "try_wait") {
    decodeWait(decoder, space);
  } else {
    decoder.failUnknown();
  }
}
