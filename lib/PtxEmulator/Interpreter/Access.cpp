//===- Access.cpp - Checked memory accesses -------------------------------===//
// A warp's accesses are checked together where they are regular, lane by lane
// where one is wrong.
//===----------------------------------------------------------------------===//

#include "Access.h"
#include "Rows.h"
#include <cstring>

using namespace amp::ptx;

void amp::ptx::loadAddresses(Context &context, const Inst &inst,
                             Access &access) {
  const uint64_t *base = context.row<uint64_t>(inst.s[0]);
  for (unsigned lane = 0; lane < numLanes; ++lane)
    access.addresses[lane] = base[lane] + static_cast<uint64_t>(inst.imm);
}

const MemoryRange *Context::findRange(uint64_t address, uint64_t bytes) {
  if (address >= lastRange.begin && address < lastRange.end &&
      bytes <= lastRange.end - address)
    return &lastRange;
  size_t low = 0, high = ranges->size();
  while (low < high) {
    size_t middle = (low + high) / 2;
    if ((*ranges)[middle].begin <= address)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == 0)
    return nullptr;
  const MemoryRange &range = (*ranges)[low - 1];
  if (address >= range.end || bytes > range.end - address)
    return nullptr;
  lastRange = range;
  return &lastRange;
}

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

bool amp::ptx::checkGlobalRange(Context &context, const Inst &inst,
                                unsigned lane, uint64_t address, uint32_t bytes,
                                bool isRead) {
  const MemoryRange *range = context.findRange(address, bytes);
  if (!range) {
    context.report(inst, FindingKind::OutOfBounds, lane, address,
                   "access of " + std::to_string(bytes) +
                       " bytes is outside every allocation");
    return false;
  }
  if (!context.checks || !isRead || !range->initialised || bytes == 0)
    return true;
  const uint8_t *states = range->initialised + (address - range->begin);
  if (std::memchr(states, 0, bytes))
    context.report(inst, FindingKind::Uninitialised, lane, address,
                   "read of memory that nothing has written");
  return true;
}

void amp::ptx::markGlobalWritten(Context &context, uint64_t address,
                                 uint32_t bytes) {
  const MemoryRange *range = context.findRange(address, bytes);
  if (context.checks && range && range->initialised)
    std::memset(range->initialised + (address - range->begin), 1, bytes);
}

namespace {
struct Extent {
  uint64_t least, most, bits;
};
} // namespace

static Extent getExtent(const uint64_t *addresses, uint32_t mask) {
  Extent extent{~uint64_t(0), 0, 0};
  for (unsigned lane = 0; lane < numLanes; ++lane) {
    bool active = mask >> lane & 1;
    uint64_t low = active ? addresses[lane] : ~uint64_t(0);
    uint64_t high = active ? addresses[lane] : 0;
    extent.least = std::min(extent.least, low);
    extent.most = std::max(extent.most, high);
    extent.bits |= high;
  }
  return extent;
}

static bool isDense(const Access &access, uint32_t mask) {
  bool dense = mask == allLanes;
  for (unsigned lane = 0; lane < numLanes; ++lane)
    dense &= access.addresses[lane] ==
             access.addresses[0] + uint64_t(lane) * access.bytes;
  return dense;
}

static void reportMisaligned(Context &context, const Inst &inst, unsigned lane,
                             uint64_t address, uint32_t bytes) {
  context.report(inst, FindingKind::Misaligned, lane, address,
                 "access of " + std::to_string(bytes) +
                     " bytes is not aligned to its size");
}

/// Notes reads and writes of lanes that all lie in `range`.
static void noteGlobal(Context &context, const Inst &inst, const Access &access,
                       uint32_t mask, const MemoryRange &range) {
  if (!range.initialised)
    return;
  bool dense = isDense(access, mask);
  unsigned step = dense ? numLanes : 1;
  for (unsigned lane = 0; lane < numLanes; lane += step) {
    if (!(mask >> lane & 1))
      continue;
    uint8_t *states =
        range.initialised + (access.addresses[lane] - range.begin);
    uint32_t bytes = access.bytes * step;
    if (access.isRead)
      if (void *bad = std::memchr(states, 0, bytes)) {
        size_t at = static_cast<uint8_t *>(bad) - states;
        context.report(inst, FindingKind::Uninitialised,
                       lane + static_cast<unsigned>(at / access.bytes),
                       access.addresses[lane] + at,
                       "read of memory that nothing has written");
        std::memset(states, 1, bytes); // once is enough
      }
    if (access.isWrite)
      std::memset(states, 1, bytes);
  }
}

static uint32_t resolveGlobal(Context &context, const Inst &inst,
                              const Access &access, uint32_t mask,
                              uint8_t *pointers[numLanes]) {
  Extent extent = getExtent(access.addresses, mask);
  const MemoryRange *range = context.findRange(
      extent.least, extent.most - extent.least + access.bytes);
  bool aligned = !(extent.bits & (access.bytes - 1));
  uint32_t valid = mask;
  if (!range || !aligned) {
    for (unsigned lane = 0; lane < numLanes; ++lane) {
      if (!(mask >> lane & 1))
        continue;
      uint64_t address = access.addresses[lane];
      if (address & (access.bytes - 1)) {
        reportMisaligned(context, inst, lane, address, access.bytes);
        valid &= ~(uint32_t(1) << lane);
      } else if (!checkGlobalRange(context, inst, lane, address, access.bytes,
                                   access.isRead)) {
        valid &= ~(uint32_t(1) << lane);
      } else if (access.isWrite) {
        markGlobalWritten(context, address, access.bytes);
      }
    }
  } else if (context.checks) {
    noteGlobal(context, inst, access, mask, *range);
  }
  for (unsigned lane = 0; lane < numLanes; ++lane)
    pointers[lane] = reinterpret_cast<uint8_t *>(access.addresses[lane]);
  if (context.checks && valid)
    countSectors(context, inst, access.addresses, valid, access.bytes,
                 access.isWrite);
  return valid;
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

bool amp::ptx::checkSharedBounds(Context &context, const Inst &inst,
                                 unsigned lane, uint64_t offset, uint32_t bytes,
                                 uint32_t alignment) {
  uint32_t size = context.block->shared.size();
  if (offset > size || bytes > size - offset) {
    context.report(inst, FindingKind::OutOfBounds, lane, offset,
                   "access of " + std::to_string(bytes) +
                       " bytes is outside the " + std::to_string(size) +
                       " bytes of shared memory");
    return false;
  }
  if (offset & (alignment - 1)) {
    reportMisaligned(context, inst, lane, offset, alignment);
    return false;
  }
  return true;
}

void amp::ptx::reportConflict(Context &context, const Inst &inst, unsigned lane,
                              const Conflict &conflict) {
  std::string other = "warp " + std::to_string(conflict.warp);
  switch (conflict.kind) {
  case Conflict::None:
    return;
  case Conflict::WriteWrite:
    return context.report(inst, FindingKind::Race, lane, conflict.offset,
                          "write races with a write of " + other +
                              ": no barrier orders them");
  case Conflict::ReadAfterWrite:
    return context.report(inst, FindingKind::Race, lane, conflict.offset,
                          "read races with a write of " + other +
                              ": no barrier orders them");
  case Conflict::WriteAfterRead:
    return context.report(inst, FindingKind::Race, lane, conflict.offset,
                          "write races with a read of " + other +
                              ": no barrier orders them");
  case Conflict::NoProxyFence:
    return context.report(inst, FindingKind::Proxy, lane, conflict.offset,
                          "asynchronous read of what a store of " + other +
                              " wrote needs fence.proxy.async");
  }
}

void amp::ptx::noteSharedRead(Context &context, const Inst &inst, unsigned lane,
                              uint32_t offset, uint32_t bytes) {
  SharedMemory &shared = context.block->shared;
  uint8_t *states = shared.states() + offset;
  for (uint32_t i = 0; i < bytes; ++i) {
    if (states[i] == uint8_t(ByteState::Written))
      continue;
    bool inFlight = states[i] == uint8_t(ByteState::InFlight);
    context.report(
        inst, inFlight ? FindingKind::AsyncCopy : FindingKind::Uninitialised,
        lane, offset + i,
        inFlight ? "read of what an asynchronous copy has not "
                   "delivered yet: its wait is missing or too weak"
                 : "read of shared memory that nothing has written");
    break;
  }
  reportConflict(context, inst, lane,
                 shared.read(context.warp->id, offset, bytes));
}

void amp::ptx::noteSharedWrite(Context &context, const Inst &inst,
                               unsigned lane, uint32_t offset, uint32_t bytes) {
  SharedMemory &shared = context.block->shared;
  uint8_t *states = shared.states() + offset;
  if (std::memchr(states, uint8_t(ByteState::InFlight), bytes))
    context.report(inst, FindingKind::AsyncCopy, lane, offset,
                   "write to where an asynchronous copy is still under way");
  std::memset(states, uint8_t(ByteState::Written), bytes);
  reportConflict(context, inst, lane,
                 shared.write(context.warp->id, offset, bytes));
}

static uint32_t resolveShared(Context &context, const Inst &inst,
                              const Access &access, uint32_t mask,
                              uint8_t *pointers[numLanes]) {
  SharedMemory &shared = context.block->shared;
  uint32_t valid = 0;
  for (unsigned lane = 0; lane < numLanes; ++lane) {
    if (!(mask >> lane & 1))
      continue;
    uint64_t offset = access.addresses[lane];
    if (!checkSharedBounds(context, inst, lane, offset, access.bytes,
                           access.bytes))
      continue;
    valid |= uint32_t(1) << lane;
    pointers[lane] = shared.data() + offset;
    uint32_t at = static_cast<uint32_t>(offset);
    if (!context.checks)
      continue;
    if (access.isRelaxed) {
      if (access.isWrite)
        std::memset(shared.states() + at, uint8_t(ByteState::Written),
                    access.bytes);
      continue;
    }
    if (access.isRead)
      noteSharedRead(context, inst, lane, at, access.bytes);
    if (access.isWrite)
      noteSharedWrite(context, inst, lane, at, access.bytes);
  }
  if (context.checks && valid)
    countBanks(context, inst, access.addresses, valid, access.bytes);
  return valid;
}

//===----------------------------------------------------------------------===//
// Other spaces
//===----------------------------------------------------------------------===//

/// Memory of `size` bytes, `stride` apart for the lanes.
static uint32_t resolveBlock(Context &context, const Inst &inst,
                             const Access &access, uint32_t mask,
                             uint8_t *pointers[numLanes], const char *what,
                             const uint8_t *memory, uint64_t size,
                             uint64_t stride) {
  uint32_t valid = 0;
  for (unsigned lane = 0; lane < numLanes; ++lane) {
    if (!(mask >> lane & 1))
      continue;
    uint64_t offset = access.addresses[lane];
    if (offset > size || access.bytes > size - offset) {
      context.report(inst, FindingKind::OutOfBounds, lane, offset,
                     "access of " + std::to_string(access.bytes) +
                         " bytes is outside the " + std::to_string(size) +
                         " bytes of " + what);
    } else if (offset & (access.bytes - 1)) {
      reportMisaligned(context, inst, lane, offset, access.bytes);
    } else {
      valid |= uint32_t(1) << lane;
      pointers[lane] = const_cast<uint8_t *>(memory) + lane * stride + offset;
    }
  }
  return valid;
}

static uint32_t resolveIn(Context &context, const Inst &inst,
                          const Access &access, Space space, uint32_t mask,
                          uint8_t *pointers[numLanes]) {
  const Program &program = *context.program;
  switch (space) {
  case Space::Shared:
    return resolveShared(context, inst, access, mask, pointers);
  case Space::Local:
    context.counters.localAccesses++;
    return resolveBlock(context, inst, access, mask, pointers, "local memory",
                        context.warp->local.data(), program.localBytes,
                        program.localBytes);
  case Space::Const:
    return resolveBlock(context, inst, access, mask, pointers,
                        "constant memory", program.constBank,
                        program.constBytes, 0);
  case Space::Param:
    return resolveBlock(
        context, inst, access, mask, pointers, "the parameters",
        static_cast<const uint8_t *>(context.launch->parameters),
        program.parameterBytes, 0);
  default:
    return resolveGlobal(context, inst, access, mask, pointers);
  }
}

/// Generic addresses: lanes may be in different spaces.
static uint32_t resolveGeneric(Context &context, const Inst &inst,
                               const Access &access,
                               uint8_t *pointers[numLanes]) {
  static constexpr std::pair<uint64_t, Space> windows[] = {
      {sharedWindow, Space::Shared},
      {localWindow, Space::Local},
      {constWindow, Space::Const},
      {paramWindow, Space::Param}};
  uint32_t left = context.mask, valid = 0;
  for (auto [window, space] : windows) {
    uint64_t start = window;
    uint32_t here =
        left & collectLanes([&](unsigned lane) {
          return access.addresses[lane] >> windowShift == start >> windowShift;
        });
    if (!here)
      continue;
    Access moved = access;
    for (uint64_t &address : moved.addresses)
      address -= start;
    valid |= resolveIn(context, inst, moved, space, here, pointers);
    left &= ~here;
  }
  if (left)
    valid |= resolveGlobal(context, inst, access, left, pointers);
  return valid;
}

uint32_t amp::ptx::resolve(Context &context, const Inst &inst,
                           const Access &access, uint8_t *pointers[numLanes]) {
  if (access.space == Space::Generic)
    return resolveGeneric(context, inst, access, pointers);
  return resolveIn(context, inst, access, access.space, context.mask, pointers);
}
