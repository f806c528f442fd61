//===- SharedMemory.cpp - Shared memory with its history ------------------===//
// Races by vector clocks: an access is ordered after another warp's if the
// clock of that access is in what the accessing warp has acquired.
//===----------------------------------------------------------------------===//

#include "SharedMemory.h"
#include <algorithm>
#include <cstring>

using namespace amp::ptx;

void amp::ptx::joinClock(Clock &into, const Clock &from) {
  if (into.size() < from.size())
    into.resize(from.size(), 0);
  for (size_t i = 0; i < from.size(); ++i)
    into[i] = std::max(into[i], from[i]);
}

void SharedMemory::resize(uint32_t count, uint32_t numWarps,
                          uint32_t granuleShift, bool checks) {
  numBytes = count;
  shift = granuleShift;
  bytes.assign(count + 16, 0xff);
  clocks.assign(numWarps, Clock(numWarps, 0));
  fences = clocks;
  if (!checks)
    return;
  granules = (count >> shift) + 16;
  byteStates.assign(count + 16, 0);
  genericWrites.assign(granules, 0);
  writes.assign(granules, 0);
  reads.assign(numWarps, std::vector<uint32_t>(granules, 0));
}

void SharedMemory::reset() {
  std::memset(bytes.data(), 0xff, bytes.size());
  std::fill(byteStates.begin(), byteStates.end(), 0);
  // Clocks go on, so that accesses of earlier blocks are in the past of all.
  uint32_t latest = 0;
  for (const Clock &clock : clocks)
    for (uint32_t value : clock)
      latest = std::max(latest, value);
  if (latest > clockMask / 2) {
    latest = 0;
    std::fill(writes.begin(), writes.end(), 0);
    for (auto &plane : reads)
      std::fill(plane.begin(), plane.end(), 0);
  }
  for (size_t warp = 0; warp < clocks.size(); ++warp) {
    std::fill(clocks[warp].begin(), clocks[warp].end(), latest);
    fences[warp] = clocks[warp];
    ++clocks[warp][warp];
  }
}

Conflict SharedMemory::check(uint32_t warp, uint32_t first, uint32_t last,
                             Conflict::Kind kind) const {
  const Clock &known = clocks[warp];
  for (uint32_t g = first; g <= last; ++g) {
    uint32_t writer = writes[g] >> warpShift;
    if (writer != warp && (writes[g] & clockMask) > known[writer])
      return {kind, g << shift, writer};
  }
  return {};
}

Conflict SharedMemory::read(uint32_t warp, uint32_t offset, uint32_t count) {
  uint32_t first = offset >> shift, last = (offset + count - 1) >> shift;
  Conflict found = check(warp, first, last, Conflict::ReadAfterWrite);
  uint32_t now = clocks[warp][warp];
  uint32_t *mine = reads[warp].data();
  for (uint32_t g = first; g <= last; ++g)
    mine[g] = now;
  return found;
}

Conflict SharedMemory::write(uint32_t warp, uint32_t offset, uint32_t count) {
  uint32_t first = offset >> shift, last = (offset + count - 1) >> shift;
  Conflict found = check(warp, first, last, Conflict::WriteWrite);
  const Clock &known = clocks[warp];
  for (uint32_t other = 0; other < reads.size() && !found.kind; ++other) {
    if (other == warp)
      continue;
    const uint32_t *theirs = reads[other].data();
    for (uint32_t g = first; g <= last; ++g)
      if (theirs[g] > known[other])
        found = {Conflict::WriteAfterRead, g << shift, other};
  }
  uint32_t stamp = warp << warpShift | known[warp];
  for (uint32_t g = first; g <= last; ++g) {
    writes[g] = stamp;
    genericWrites[g] = 1;
  }
  return found;
}

Conflict SharedMemory::readAsync(uint32_t warp, uint32_t offset,
                                 uint32_t count) {
  Conflict found = read(warp, offset, count);
  uint32_t first = offset >> shift, last = (offset + count - 1) >> shift;
  for (uint32_t g = first; g <= last && !found.kind; ++g) {
    if (!genericWrites[g])
      continue;
    uint32_t writer = writes[g] >> warpShift, clock = writes[g] & clockMask;
    if (clock > fences[writer][writer] && clock > fences[warp][writer])
      found = {Conflict::NoProxyFence, g << shift, writer};
  }
  return found;
}

void SharedMemory::markAsync(uint32_t offset, uint32_t count) {
  for (uint32_t g = offset >> shift; g <= (offset + count - 1) >> shift; ++g)
    genericWrites[g] = 0;
}

void SharedMemory::acquire(uint32_t warp, const Clock &clock) {
  uint32_t own = clocks[warp][warp];
  joinClock(clocks[warp], clock);
  clocks[warp][warp] = std::max(own, clocks[warp][warp]);
}

void SharedMemory::synchronise(const std::vector<uint32_t> &warps) {
  Clock all;
  for (uint32_t warp : warps)
    joinClock(all, clocks[warp]);
  for (uint32_t warp : warps) {
    clocks[warp] = all;
    advance(warp);
  }
}

void SharedMemory::fenceProxy(uint32_t warp) {
  fences[warp] = clocks[warp];
  advance(warp);
}
