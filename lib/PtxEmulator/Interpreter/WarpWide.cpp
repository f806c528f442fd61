//===- WarpWide.cpp - shfl, vote, match, redux, elect ---------------------===//
// Instructions through which the lanes of a warp see each other.
//===----------------------------------------------------------------------===//

#include "Decoder.h"
#include "Rows.h"
#include <algorithm>

using namespace amp::ptx;

namespace {
enum Shuffle : int64_t { Up, Down, Butterfly, Index };
enum Vote : int64_t { All, Any, Uniform, Ballot };
} // namespace

/// The members the first active lane names; false where lanes are missing and
/// may still come. A lane that executes must be a member.
static bool getMembers(Context &context, const Inst &inst, uint32_t row,
                       uint32_t &members) {
  members = context.row<uint32_t>(row)[context.getFirstLane()];
  if (!context.isConverged(inst, members))
    return false;
  if (context.mask & ~members)
    context.report(inst, FindingKind::Convergence,
                   __builtin_ctz(context.mask & ~members), members,
                   "lane executes this but is not in its membermask");
  return true;
}

/// s: value, offset or lane, clamp, membermask.
static void shuffle(Context &context, const Inst &inst) {
  uint32_t members;
  if (!getMembers(context, inst, inst.s[3], members))
    return;
  uint32_t in[numLanes], inRange = 0;
  std::copy_n(context.row<uint32_t>(inst.s[0]), numLanes, in);
  uint32_t *d = context.row<uint32_t>(inst.d[0]);
  const uint32_t *b = context.row<uint32_t>(inst.s[1]),
                 *c = context.row<uint32_t>(inst.s[2]);
  for (uint32_t lane = 0; lane < numLanes; ++lane) {
    if (!context.isActive(lane))
      continue;
    uint32_t offset = b[lane] & 31, clamp = c[lane] & 31;
    uint32_t segment = c[lane] >> 8 & 31;
    int32_t most = static_cast<int32_t>((lane & segment) | (clamp & ~segment));
    int32_t least = static_cast<int32_t>(lane & segment);
    int32_t from = static_cast<int32_t>(lane);
    bool holds = false;
    switch (inst.imm) {
    case Up:
      from -= static_cast<int32_t>(offset);
      holds = from >= most;
      break;
    case Down:
      from += static_cast<int32_t>(offset);
      holds = from <= most;
      break;
    case Butterfly:
      from ^= static_cast<int32_t>(offset);
      holds = from <= most;
      break;
    default:
      from = least | static_cast<int32_t>(offset & ~segment);
      holds = from <= most;
      break;
    }
    if (!holds)
      from = static_cast<int32_t>(lane);
    if (!(context.mask >> (from & 31) & 1))
      context.report(inst, FindingKind::Convergence, lane, 0,
                     "shuffle from lane " + std::to_string(from) +
                         ", which does not execute it");
    d[lane] = in[from & 31];
    inRange |= uint32_t(holds) << lane;
  }
  context.setPredicate(inst.d[1], inRange);
}

static void decodeShuffle(Decoder &decoder) {
  Modifiers &modifiers = decoder.modifiers;
  if (!modifiers.take("sync"))
    decoder.failUnknown();
  int64_t mode = modifiers.take("up")     ? Up
                 : modifiers.take("down") ? Down
                 : modifiers.take("bfly") ? Butterfly
                 : modifiers.take("idx")  ? Index
                                          : -1;
  if (modifiers.takeType() != Type::B32 || mode < 0)
    decoder.failUnknown();
  bool two = decoder.getNumOperands() == 6;
  decoder.expectOperands(5 + two, 5 + two);
  uint32_t sources[4];
  for (size_t i = 0; i < 4; ++i)
    sources[i] = decoder.sourceRow(1 + two + i, Type::B32);
  uint32_t to = decoder.destination(0, Type::B32);
  uint32_t predicate = two ? decoder.predicateDestination(decoder.operand(1))
                           : Program::sinkPredicate;
  Inst &inst = decoder.emit(shuffle);
  inst.d[0] = to;
  inst.d[1] = predicate;
  std::copy(sources, sources + 4, inst.s);
  inst.imm = mode;
}

/// s[0] a predicate, s[1] the membermask.
static void vote(Context &context, const Inst &inst) {
  uint32_t members;
  if (!getMembers(context, inst, inst.s[1], members))
    return;
  uint32_t voters = context.mask & members;
  uint32_t votes = context.predicates[inst.s[0]] & voters;
  if (inst.imm == Ballot) {
    setLanes(context, context.row<uint32_t>(inst.d[0]),
             [=](unsigned) { return votes; });
    return;
  }
  bool holds = inst.imm == All   ? votes == voters
               : inst.imm == Any ? votes != 0
                                 : votes == 0 || votes == voters;
  context.setPredicate(inst.d[0], holds ? allLanes : 0);
}

static void decodeVote(Decoder &decoder) {
  Modifiers &modifiers = decoder.modifiers;
  int64_t mode = modifiers.take("all")      ? All
                 : modifiers.take("any")    ? Any
                 : modifiers.take("uni")    ? Uniform
                 : modifiers.take("ballot") ? Ballot
                                            : -1;
  if (!modifiers.take("sync") || mode < 0)
    decoder.failUnknown();
  modifiers.takeType();
  decoder.expectOperands(3, 3);
  uint32_t predicate = decoder.predicateSource(decoder.operand(1));
  uint32_t members = decoder.sourceRow(2, Type::B32);
  uint32_t to = mode == Ballot
                    ? decoder.destination(0, Type::B32)
                    : decoder.predicateDestination(decoder.operand(0));
  Inst &inst = decoder.emit(vote);
  inst.d[0] = to;
  inst.s[0] = predicate;
  inst.s[1] = members;
  inst.imm = mode;
}

static void activeMask(Context &context, const Inst &inst) {
  uint32_t mask = context.mask;
  setLanes(context, context.row<uint32_t>(inst.d[0]),
           [=](unsigned) { return mask; });
}

/// d[0] lanes with the lane's value; match.all: all of them if all agree.
template <typename T> static void match(Context &context, const Inst &inst) {
  uint32_t members;
  if (!getMembers(context, inst, inst.s[1], members))
    return;
  const T *a = context.row<T>(inst.s[0]);
  uint32_t peers[numLanes] = {};
  for (unsigned lane = 0; lane < numLanes; ++lane)
    for (unsigned other = 0; other < numLanes; ++other)
      if (context.isActive(lane) && context.isActive(other) &&
          a[lane] == a[other])
        peers[lane] |= uint32_t(1) << other;
  bool isAll = inst.imm;
  bool agrees = peers[context.getFirstLane()] == context.mask;
  setLanes(context, context.row<uint32_t>(inst.d[0]), [&](unsigned lane) {
    return isAll ? (agrees ? members : 0) : peers[lane];
  });
  context.setPredicate(inst.d[1], agrees ? allLanes : 0);
}

static void decodeMatch(Decoder &decoder) {
  Modifiers &modifiers = decoder.modifiers;
  bool isAll = modifiers.take("all");
  if ((!isAll && !modifiers.take("any")) || !modifiers.take("sync"))
    decoder.failUnknown();
  Type type = modifiers.takeType();
  bool two = decoder.getNumOperands() == 4;
  decoder.expectOperands(3 + two, 3 + two);
  uint32_t value = decoder.sourceRow(1 + two, type);
  uint32_t members = decoder.sourceRow(2 + two, Type::B32);
  uint32_t to = decoder.destination(0, Type::B32);
  uint32_t predicate = two ? decoder.predicateDestination(decoder.operand(1))
                           : Program::sinkPredicate;
  Inst &inst =
      decoder.emit(getBytes(type) == 8 ? match<uint64_t> : match<uint32_t>);
  inst.d[0] = to;
  inst.d[1] = predicate;
  inst.s[0] = value;
  inst.s[1] = members;
  inst.imm = isAll;
}

namespace {
enum Reduction : int64_t { Add, Min, Max, And, Or, Xor };
} // namespace

template <typename T> static void reduce(Context &context, const Inst &inst) {
  uint32_t members;
  if (!getMembers(context, inst, inst.s[1], members))
    return;
  const T *a = context.row<T>(inst.s[0]);
  T result = a[context.getFirstLane()];
  for (unsigned lane = context.getFirstLane() + 1; lane < numLanes; ++lane) {
    if (!context.isActive(lane))
      continue;
    switch (inst.imm) {
    case Add:
      result = static_cast<T>(uint32_t(result) + uint32_t(a[lane]));
      break;
    case Min:
      result = std::min(result, a[lane]);
      break;
    case Max:
      result = std::max(result, a[lane]);
      break;
    case And:
      result &= a[lane];
      break;
    case Or:
      result |= a[lane];
      break;
    default:
      result ^= a[lane];
    }
  }
  setLanes(context, context.row<T>(inst.d[0]),
           [=](unsigned) { return result; });
}

static void decodeReduce(Decoder &decoder) {
  static constexpr std::string_view names[] = {"add", "min", "max",
                                               "and", "or",  "xor"};
  int64_t operation = -1;
  for (int64_t i = 0; i < 6; ++i)
    if (decoder.modifiers.take(names[i]))
      operation = i;
  Type type = decoder.modifiers.takeType();
  if (!decoder.modifiers.take("sync") || operation < 0 || isFloat(type) ||
      getBytes(type) != 4)
    decoder.failUnknown();
  decoder.expectOperands(3, 3);
  uint32_t value = decoder.sourceRow(1, type);
  uint32_t members = decoder.sourceRow(2, Type::B32);
  uint32_t to = decoder.destination(0, type);
  Inst &inst =
      decoder.emit(isSigned(type) ? reduce<int32_t> : reduce<uint32_t>);
  inst.d[0] = to;
  inst.s[0] = value;
  inst.s[1] = members;
  inst.imm = operation;
}

/// The lowest member is elected.
static void elect(Context &context, const Inst &inst) {
  uint32_t members;
  if (!getMembers(context, inst, inst.s[0], members))
    return;
  uint32_t leader = context.getFirstLane();
  setLanes(context, context.row<uint32_t>(inst.d[0]),
           [=](unsigned) { return leader; });
  context.setPredicate(inst.d[1], uint32_t(1) << leader);
}

static void decodeElect(Decoder &decoder) {
  if (!decoder.modifiers.take("sync"))
    decoder.failUnknown();
  decoder.expectOperands(3, 3);
  uint32_t members = decoder.sourceRow(2, Type::B32);
  uint32_t to = decoder.destination(0, Type::B32);
  uint32_t predicate = decoder.predicateDestination(decoder.operand(1));
  Inst &inst = decoder.emit(elect);
  inst.d[0] = to;
  inst.d[1] = predicate;
  inst.s[0] = members;
}

void amp::ptx::decodeWarp(Decoder &decoder) {
  std::string_view base = decoder.modifiers.getBase();
  if (base == "shfl")
    return decodeShuffle(decoder);
  if (base == "vote")
    return decodeVote(decoder);
  if (base == "match")
    return decodeMatch(decoder);
  if (base == "redux")
    return decodeReduce(decoder);
  if (base == "elect")
    return decodeElect(decoder);
  decoder.modifiers.takeType();
  decoder.expectOperands(1, 1);
  uint32_t to = decoder.destination(0, Type::B32);
  decoder.emit(activeMask).d[0] = to;
}
