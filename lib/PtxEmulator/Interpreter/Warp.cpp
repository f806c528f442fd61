//===- Warp.cpp - Running one warp ----------------------------------------===//
// Lanes that diverged are groups; the lowest place in the innermost call runs
// first, and groups that meet become one.
//===----------------------------------------------------------------------===//

#include "Machine.h"
#include <algorithm>
#include <limits>

using namespace amp::ptx;

/// Instructions after which other warps get their turn.
static constexpr uint64_t timeSlice = 1 << 20;

void AlignedBytes::resize(size_t bytes) {
  constexpr size_t alignment = 64;
  storage = std::make_unique<uint8_t[]>(bytes + alignment);
  uintptr_t at = reinterpret_cast<uintptr_t>(storage.get());
  start = storage.get() + (alignment - at % alignment) % alignment;
}

/// Runnable groups first: deepest call, then lowest place.
static bool runsBefore(const Group &a, const Group &b) {
  if (a.parked != b.parked)
    return b.parked;
  if (a.returns.size() != b.returns.size())
    return a.returns.size() > b.returns.size();
  return a.pc < b.pc;
}

static void arrange(std::vector<Group> &groups) {
  if (groups.size() < 2)
    return;
  std::sort(groups.begin(), groups.end(), runsBefore);
  for (size_t i = 0; i < groups.size(); ++i)
    for (size_t j = i + 1; j < groups.size();) {
      if (groups[i].pc != groups[j].pc ||
          groups[i].returns != groups[j].returns) {
        ++j;
        continue;
      }
      // A parked group waits at its instruction, which runs again for both.
      groups[i].mask |= groups[j].mask;
      groups[i].parked &= groups[j].parked;
      groups.erase(groups.begin() + j);
    }
  std::sort(groups.begin(), groups.end(), runsBefore);
  if (groups[0].parked) { // nobody else comes: go on, with a finding
    groups[0].parked = false;
    groups[0].forced = true;
  }
}

/// Where the front group must stop because another one may be there.
static int32_t getLimit(const std::vector<Group> &groups) {
  int32_t limit = std::numeric_limits<int32_t>::max();
  for (size_t i = 1; i < groups.size(); ++i)
    if (groups[i].returns.size() == groups[0].returns.size() &&
        groups[i].pc > groups[0].pc)
      limit = std::min(limit, groups[i].pc);
  return limit;
}

namespace {
/// Runs the front group of a warp until something needs the others.
class GroupRunner {
public:
  GroupRunner(Context &context, Warp &warp) : context(context), warp(warp) {}
  /// False if the warp must wait.
  bool run(uint64_t &budget);

private:
  bool handle(const Inst &inst);
  void removeLanes(uint32_t lanes);
  void split();

  Context &context;
  Warp &warp;
};
} // namespace

void GroupRunner::removeLanes(uint32_t lanes) {
  Group &group = warp.groups.front();
  group.mask &= ~lanes;
  if (!group.mask)
    warp.groups.erase(warp.groups.begin());
}

void GroupRunner::split() {
  Group old = warp.groups.front();
  removeLanes(context.mask);
  uint32_t sent = 0;
  for (auto [target, lanes] : context.splits) {
    warp.groups.push_back({target, lanes, false, old.returns, false});
    sent |= lanes;
  }
  warp.live &= ~(context.mask & ~sent); // a bad index ends its lane
}

/// What an instruction asked for; false if the warp must wait. The place in
/// the front group is already that of the next instruction.
bool GroupRunner::handle(const Inst &inst) {
  Group &group = warp.groups.front();
  uint32_t lanes = context.mask;
  Event event = context.event;
  context.event = Event::None;
  switch (event) {
  case Event::None:
    break;
  case Event::Branch:
    if (lanes == group.mask) {
      group.pc = context.target;
    } else {
      Group taken{context.target, lanes, false, group.returns, false};
      removeLanes(lanes);
      warp.groups.push_back(std::move(taken));
    }
    break;
  case Event::Split:
    split();
    break;
  case Event::Exit:
    warp.live &= ~lanes;
    removeLanes(lanes);
    break;
  case Event::Call: {
    Group inner{context.target, lanes, false, group.returns, false};
    inner.returns.push_back(group.pc);
    removeLanes(lanes);
    warp.groups.push_back(std::move(inner));
    break;
  }
  case Event::Return: {
    Group outer{group.returns.back(), lanes, false, group.returns, false};
    outer.returns.pop_back();
    removeLanes(lanes);
    warp.groups.push_back(std::move(outer));
    break;
  }
  case Event::Park:
    --group.pc;
    group.parked = true;
    break;
  case Event::Barrier:
    warp.state = WarpState::AtBarrier;
    return false;
  case Event::Retry:
    --group.pc;
    [[fallthrough]];
  case Event::Yield:
    warp.state = WarpState::Yielded;
    warp.blockedLine = inst.line;
    return false;
  }
  return true;
}

bool GroupRunner::run(uint64_t &budget) {
  const Inst *code = context.program->code.data();
  int32_t limit = getLimit(warp.groups);
  int32_t pc = warp.groups.front().pc;
  uint32_t mask = warp.groups.front().mask;
  context.isForced = warp.groups.front().forced;
  warp.groups.front().forced = false;
  uint64_t steps = 0, lanes = 0;
  bool goesOn = true;
  do {
    const Inst &inst = code[pc++];
    context.mask = mask & (context.predicates[inst.guard] ^ inst.guardFlip);
    ++steps;
    if (!context.mask)
      continue;
    lanes += __builtin_popcount(context.mask);
    inst.handler(context, inst);
    if (context.event == Event::None)
      continue;
    if (context.event == Event::Branch && context.mask == mask) {
      context.event = Event::None;
      pc = context.target;
      // Groups behind this one may now be ahead.
      if (warp.groups.size() == 1)
        continue;
      warp.groups.front().pc = pc;
      break;
    }
    warp.groups.front().pc = pc;
    goesOn = handle(inst);
    pc = -1;
    break;
  } while (pc < limit && steps < budget);
  if (pc >= 0)
    warp.groups.front().pc = pc;
  budget -= std::min(budget, steps);
  warp.instructions += steps;
  context.counters.warpInstructions += steps;
  context.counters.laneInstructions += lanes;
  return goesOn;
}

void amp::ptx::runWarp(Context &context, Warp &warp) {
  context.warp = &warp;
  context.rows = warp.rows.data();
  context.predicates = warp.predicates.data();
  warp.state = WarpState::Ready;
  uint64_t budget = timeSlice;
  GroupRunner runner(context, warp);
  while (!warp.groups.empty()) {
    arrange(warp.groups);
    if (!runner.run(budget))
      return;
    if (budget == 0) {
      context.block->progress++;
      warp.state = WarpState::Yielded;
      return;
    }
  }
  warp.state = WarpState::Done;
  context.block->progress++;
}
