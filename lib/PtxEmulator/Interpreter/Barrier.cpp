//===- Barrier.cpp - bar, barrier, bar.warp, fences -----------------------===//
// A warp arrives as a whole; runBlock lets the warps go on.
//===----------------------------------------------------------------------===//

#include "Decoder.h"
#include "Machine.h"

using namespace amp::ptx;

namespace {
enum : uint16_t { Waits = 1, HasCount = 2, Reduces = 4, IsCluster = 8 };
enum Reduction : int64_t { Population, All, Any };
} // namespace

/// s[0] the number, s[1] the threads, s[2] the predicate to reduce.
static void barrier(Context &context, const Inst &inst) {
  if (!context.isConverged(inst, allLanes))
    return;
  Warp &warp = *context.warp;
  unsigned lane = context.getFirstLane();
  uint32_t number = inst.flags & IsCluster
                        ? clusterBarrier
                        : context.row<uint32_t>(inst.s[0])[lane];
  if (number >= clusterBarrier && !(inst.flags & IsCluster)) {
    context.report(inst, FindingKind::Barrier, lane, number,
                   "there are barriers 0 to 15");
    return;
  }
  uint32_t expected = 0;
  if (inst.flags & HasCount) {
    expected = context.row<uint32_t>(inst.s[1])[lane];
    if (expected == 0 || expected % numLanes)
      context.report(inst, FindingKind::Barrier, lane, expected,
                     "a barrier's threads must be a multiple of 32");
  }
  NamedBarrier &into = context.block->barriers[number];
  if (into.arrived && into.expected != expected)
    context.report(inst, FindingKind::Barrier, lane, expected,
                   "warps disagree on how many threads barrier " +
                       std::to_string(number) + " waits for");
  into.expected = expected;
  into.arrived += numLanes;
  context.counters.barriers++;
  context.block->progress++;
  if (inst.flags & Reduces) {
    uint32_t bits = context.predicates[inst.s[2]] & context.mask;
    into.population += __builtin_popcount(bits);
    into.participants += __builtin_popcount(context.mask);
    warp.reduction = &inst;
    warp.reductionMask = context.mask;
  }
  warp.barrierId = number;
  warp.blockedLine = inst.line;
  if (inst.flags & Waits) {
    into.waiting.push_back(warp.id);
    context.event = Event::Barrier;
  } else {
    into.arrivers.push_back(warp.id);
    into.arrivedClocks.push_back(context.block->shared.getClock(warp.id));
    context.block->shared.advance(warp.id);
  }
}

void amp::ptx::finishReduction(Warp &warp, const NamedBarrier &from) {
  const Inst *inst = warp.reduction;
  if (!inst)
    return;
  warp.reduction = nullptr;
  uint32_t mask = warp.reductionMask;
  if (inst->imm == Population) {
    auto *d = reinterpret_cast<uint32_t *>(warp.rows.data() + inst->d[0]);
    for (unsigned lane = 0; lane < numLanes; ++lane)
      if (mask >> lane & 1)
        d[lane] = from.population;
    return;
  }
  bool holds = inst->imm == All ? from.population == from.participants
                                : from.population > 0;
  uint32_t &bits = warp.predicates[inst->d[0]];
  bits = holds ? bits | mask : bits & ~mask;
}

static void warpBarrier(Context &context, const Inst &inst) {
  uint32_t members = context.row<uint32_t>(inst.s[0])[context.getFirstLane()];
  context.isConverged(inst, members);
}

static void decodeWarpBarrier(Decoder &decoder) {
  if (!decoder.modifiers.take("sync"))
    decoder.failUnknown();
  decoder.expectOperands(1, 1);
  uint32_t members = decoder.sourceRow(size_t(0), Type::B32);
  decoder.emit(warpBarrier).s[0] = members;
}

/// In a cluster of one block, all threads of the block.
static void decodeClusterBarrier(Decoder &decoder) {
  Modifiers &modifiers = decoder.modifiers;
  bool waits = modifiers.take("wait");
  if (!waits && !modifiers.take("arrive"))
    decoder.failUnknown();
  for (std::string_view name : {"aligned", "acquire", "release", "relaxed"})
    modifiers.take(name);
  decoder.expectOperands(0, 0);
  if (!waits) // the wait orders everything
    return decodeNothing(decoder);
  decoder.emit(barrier).flags = Waits | IsCluster;
}

void amp::ptx::decodeBarrier(Decoder &decoder) {
  Modifiers &modifiers = decoder.modifiers;
  if (modifiers.take("warp"))
    return decodeWarpBarrier(decoder);
  if (modifiers.take("cluster"))
    return decodeClusterBarrier(decoder);
  modifiers.take("cta");
  modifiers.take("aligned");
  uint16_t flags = 0;
  int64_t reduction = 0;
  if (modifiers.take("sync"))
    flags = Waits;
  else if (modifiers.take("red"))
    flags = Waits | Reduces;
  else if (!modifiers.take("arrive"))
    decoder.failUnknown();
  uint32_t to = 0, predicate = 0;
  size_t at = 0, end = decoder.getNumOperands();
  if (flags & Reduces) {
    bool counts = modifiers.take("popc");
    reduction = counts ? Population : modifiers.take("and") ? All : Any;
    if (!counts && reduction == Any && !modifiers.take("or"))
      decoder.failUnknown();
    modifiers.takeType();
    to = counts ? decoder.destination(at, Type::U32)
                : decoder.predicateDestination(decoder.operand(at));
    at = 1;
    predicate = decoder.predicateSource(decoder.operand(--end));
  }
  decoder.expectOperands(1, 4);
  uint32_t number = decoder.sourceRow(at, Type::U32), count = 0;
  if (end > at + 1) {
    flags |= HasCount;
    count = decoder.sourceRow(at + 1, Type::U32);
  } else if (!(flags & Waits)) {
    decoder.fail("an arrival must say for how many threads");
  }
  Inst &inst = decoder.emit(barrier);
  inst.d[0] = to;
  inst.s[0] = number;
  inst.s[1] = count;
  inst.s[2] = predicate;
  inst.flags = flags;
  inst.imm = reduction;
}

//===----------------------------------------------------------------------===//
// Fences
//===----------------------------------------------------------------------===//

static void fenceProxy(Context &context, const Inst &) {
  context.block->shared.fenceProxy(context.warp->id);
}

/// One block runs at a time on a thread and memory is that of the host: only
/// the fence between the proxies has something to say.
void amp::ptx::decodeFence(Decoder &decoder) {
  bool isProxy = decoder.modifiers.take("proxy");
  bool isAsync = decoder.modifiers.take("async");
  for (std::string_view part : {"async::generic", "async.shared::cta"})
    isAsync |= decoder.modifiers.take(part);
  decoder.emit(isProxy && isAsync
                   ? fenceProxy
                   : static_cast<Handler>([](Context &, const Inst &) {}));
}
