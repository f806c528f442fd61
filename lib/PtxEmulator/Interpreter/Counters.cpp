//===- Counters.cpp - What accesses cost ----------------------------------===//
// Wavefronts of shared memory and sectors of global memory, per instruction.
//===----------------------------------------------------------------------===//

#include "Access.h"
#include <algorithm>

using namespace amp::ptx;

static constexpr uint32_t bankBytes = 4, wavefrontBytes = 128, sectorBytes = 32;

void Counters::add(const Counters &other) {
  warpInstructions += other.warpInstructions;
  laneInstructions += other.laneInstructions;
  mma += other.mma;
  wgmma += other.wgmma;
  matrixLoads += other.matrixLoads;
  asyncCopies += other.asyncCopies;
  tensorCopies += other.tensorCopies;
  barriers += other.barriers;
  sharedRequests += other.sharedRequests;
  sharedWavefronts += other.sharedWavefronts;
  bankConflicts += other.bankConflicts;
  globalRequests += other.globalRequests;
  globalSectors += other.globalSectors;
  idealSectors += other.idealSectors;
  bytesRead += other.bytesRead;
  bytesWritten += other.bytesWritten;
  localAccesses += other.localAccesses;
}

/// Lanes are served in groups that take 128 bytes; each group costs as many
/// wavefronts as some bank has different words of it.
void amp::ptx::countBanks(Context &context, const Inst &inst,
                          const uint64_t *addresses, uint32_t lanes,
                          uint32_t bytes) {
  uint32_t unit = std::max(bytes, bankBytes), slots = wavefrontBytes / unit;
  uint64_t wavefronts = 0, conflicts = 0;
  for (uint32_t first = 0; first < numLanes; first += slots) {
    uint64_t words[numLanes];
    uint8_t next[numLanes], heads[numLanes], counts[numLanes] = {};
    std::fill(heads, heads + slots, uint8_t(255));
    uint32_t worst = 0;
    for (uint32_t lane = first; lane < first + slots; ++lane) {
      if (!(lanes >> lane & 1))
        continue;
      uint64_t word = addresses[lane] / unit;
      uint32_t slot = word % slots;
      uint8_t seen = heads[slot];
      while (seen != 255 && words[seen] != word)
        seen = next[seen];
      if (seen != 255)
        continue;
      words[lane] = word;
      next[lane] = heads[slot];
      heads[slot] = static_cast<uint8_t>(lane);
      worst = std::max<uint32_t>(worst, ++counts[slot]);
    }
    wavefronts += worst;
    conflicts += worst ? worst - 1 : 0;
  }
  context.counters.sharedRequests++;
  context.counters.sharedWavefronts += wavefronts;
  context.counters.bankConflicts += conflicts;
  LineCounters &line = context.lineOf(inst);
  line.isShared = true;
  line.requests++;
  line.bankConflicts += conflicts;
}

/// Distinct sectors of lanes in any order.
static uint64_t countDistinct(const uint64_t *addresses, uint32_t lanes,
                              uint32_t bytes) {
  uint64_t sectors[2 * numLanes];
  unsigned count = 0;
  for (unsigned lane = 0; lane < numLanes; ++lane) {
    if (!(lanes >> lane & 1))
      continue;
    uint64_t sector = addresses[lane] / sectorBytes;
    bool seen = false;
    for (unsigned i = count; i-- > 0 && !seen;)
      seen = sectors[i] == sector;
    if (!seen)
      sectors[count++] = sector;
  }
  return count * std::max<uint64_t>(1, bytes / sectorBytes);
}

void amp::ptx::countSectors(Context &context, const Inst &inst,
                            const uint64_t *addresses, uint32_t lanes,
                            uint32_t bytes, bool isWrite) {
  uint64_t active = __builtin_popcount(lanes), sectors;
  uint64_t first = addresses[__builtin_ctz(lanes)];
  bool isDense = lanes == allLanes;
  for (unsigned lane = 0; lane < numLanes && isDense; ++lane)
    isDense = addresses[lane] == first + uint64_t(lane) * bytes;
  if (isDense)
    sectors =
        (first + numLanes * bytes - 1) / sectorBytes - first / sectorBytes + 1;
  else
    sectors = countDistinct(addresses, lanes, bytes);
  uint64_t ideal = (active * bytes + sectorBytes - 1) / sectorBytes;
  // Lanes that read the same word need fewer.
  ideal = std::min(ideal, sectors);
  context.counters.globalRequests++;
  context.counters.globalSectors += sectors;
  context.counters.idealSectors += ideal;
  (isWrite ? context.counters.bytesWritten : context.counters.bytesRead) +=
      active * bytes;
  LineCounters &line = context.lineOf(inst);
  line.requests++;
  line.sectors += sectors;
  line.idealSectors += ideal;
}
