//===- Launch.h - Running a kernel over a grid ------------------*- C++ -*-===//
// What a launch needs, and what it tells: findings and counters.
//===----------------------------------------------------------------------===//

#ifndef AMP_PTXEMULATOR_INTERPRETER_LAUNCH_H
#define AMP_PTXEMULATOR_INTERPRETER_LAUNCH_H

#include "amp/PtxEmulator/Interpreter/Module.h"

namespace amp::ptx {

enum class CheckLevel {
  Bounds, ///< Bounds and alignment only: what keeps the process alive.
  All     ///< Also initialised reads, races, async copies; with counters.
};

struct Launch {
  std::array<uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  uint32_t dynamicShared = 0;
  /// At least `Kernel::getParameterBytes` bytes.
  const void *parameters = nullptr;
  /// Threads that blocks are spread over. Kernels with global atomics use one,
  /// so that results do not depend on timing.
  unsigned threads = 1;
  CheckLevel checks = CheckLevel::All;
  /// Orders the warps of a block.
  uint64_t seed = 0;
  /// A warp that runs longer is stopped with a finding.
  uint64_t maxInstructionsPerWarp = uint64_t(1) << 36;
};

enum class FindingKind {
  OutOfBounds,
  Misaligned,
  Uninitialised,
  Race,
  AsyncCopy,
  Barrier,
  Convergence,
  Proxy,
  Hang,
  Trap,
  Unsupported
};

/// Something a correct kernel does not do.
struct Finding {
  FindingKind kind;
  std::string kernel;
  uint32_t line;
  std::array<uint32_t, 3> block, thread;
  uint64_t address;
  /// What, in words, without the place.
  std::string message;
  /// The instruction's text.
  std::string instruction;
};

std::string_view getName(FindingKind kind);
/// One line: kernel, line, thread, message, address, instruction.
std::string describe(const Finding &finding);

/// Sums over all warps of a launch.
struct Counters {
  uint64_t warpInstructions = 0, laneInstructions = 0;
  uint64_t mma = 0, wgmma = 0, matrixLoads = 0, asyncCopies = 0,
           tensorCopies = 0, barriers = 0;
  uint64_t sharedRequests = 0, sharedWavefronts = 0, bankConflicts = 0;
  uint64_t globalRequests = 0, globalSectors = 0;
  /// Sectors that would do if every request were dense.
  uint64_t idealSectors = 0;
  uint64_t bytesRead = 0, bytesWritten = 0, localAccesses = 0;

  void add(const Counters &other);
};

/// Sums of one memory instruction.
struct LineCounters {
  uint32_t line = 0;
  bool isShared = false;
  uint64_t requests = 0;
  /// Shared: wavefronts beyond the fewest possible. Global: 32-byte sectors.
  uint64_t bankConflicts = 0, sectors = 0, idealSectors = 0;
  std::string instruction;
};

struct LaunchReport {
  /// The first few of each line.
  std::vector<Finding> findings;
  Counters counters;
  /// Per memory instruction, by line (checks on only).
  std::vector<LineCounters> lines;
};

/// Runs the kernel to its end. The geometry must suit the kernel
/// (`getRequiredBlock`, `getMaxThreads`); a mismatch is a finding.
LaunchReport run(const Kernel &kernel, const Launch &launch,
                 DeviceMemory &memory);

/// Whether this CPU has what the interpreter was compiled for (AVX2, FMA and
/// F16C on x86-64); `missing` says what is not there.
bool isHostSupported(std::string &missing);

} // namespace amp::ptx

#endif // AMP_PTXEMULATOR_INTERPRETER_LAUNCH_H
