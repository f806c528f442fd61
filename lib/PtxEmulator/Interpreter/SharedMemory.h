//===- SharedMemory.h - Shared memory with its history ----------*- C++ -*-===//
// Bytes, whether they were written, and vector clocks that tell which accesses
// of different warps nothing orders.
//===----------------------------------------------------------------------===//

#ifndef AMP_PTXEMULATOR_SHAREDMEMORY_H
#define AMP_PTXEMULATOR_SHAREDMEMORY_H

#include <cstdint>
#include <vector>

namespace amp::ptx {

/// For each warp, the last moment of it that is known to be past.
using Clock = std::vector<uint32_t>;

void joinClock(Clock &into, const Clock &from);

enum class ByteState : uint8_t {
  Unwritten,
  Written,
  InFlight ///< an asynchronous copy will write it
};

/// What an access ran into.
struct Conflict {
  enum Kind { None, WriteWrite, ReadAfterWrite, WriteAfterRead, NoProxyFence };
  Kind kind = None;
  uint32_t offset = 0, warp = 0;
};

class SharedMemory {
public:
  /// `granuleShift`: binary logarithm of the bytes whose accesses are told
  /// apart.
  void resize(uint32_t bytes, uint32_t numWarps, uint32_t granuleShift,
              bool checks);
  /// For the next block: NaN, unwritten, nothing to race with.
  void reset();

  uint8_t *data() { return bytes.data(); }
  uint32_t size() const { return numBytes; }
  uint8_t *states() { return byteStates.data(); }

  /// Notes the access of a warp; tells the first conflict with another.
  Conflict read(uint32_t warp, uint32_t offset, uint32_t count);
  Conflict write(uint32_t warp, uint32_t offset, uint32_t count);
  /// As a read by the asynchronous proxy that `warp` starts: what generic
  /// stores wrote needs a proxy fence.
  Conflict readAsync(uint32_t warp, uint32_t offset, uint32_t count);
  /// The bytes were written by the asynchronous proxy.
  void markAsync(uint32_t offset, uint32_t count);

  // Order between warps.
  const Clock &getClock(uint32_t warp) const { return clocks[warp]; }
  /// Everything in `clock` happened before what `warp` does next.
  void acquire(uint32_t warp, const Clock &clock);
  /// What `warp` did so far is told apart from what it does next.
  void advance(uint32_t warp) { ++clocks[warp][warp]; }
  /// All that the warps did is before all that they do next.
  void synchronise(const std::vector<uint32_t> &warps);
  void fenceProxy(uint32_t warp);

private:
  static constexpr uint32_t warpShift = 26, clockMask = (1u << warpShift) - 1;
  Conflict check(uint32_t warp, uint32_t first, uint32_t last,
                 Conflict::Kind kind) const;

  std::vector<uint8_t> bytes, byteStates, genericWrites;
  std::vector<uint32_t> writes;             // by granule: warp and clock
  std::vector<std::vector<uint32_t>> reads; // by warp, by granule: clock
  std::vector<Clock> clocks;
  std::vector<Clock> fences;
  uint32_t numBytes = 0, granules = 0, shift = 2;
};

} // namespace amp::ptx

#endif // AMP_PTXEMULATOR_SHAREDMEMORY_H
