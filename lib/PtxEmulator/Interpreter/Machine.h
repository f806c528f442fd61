//===- Machine.h - The state of running blocks ------------------*- C++ -*-===//
// Warps of 32 lanes in lockstep with masks, their block, and what handlers see.
//===----------------------------------------------------------------------===//

#ifndef AMP_PTXEMULATOR_MACHINE_H
#define AMP_PTXEMULATOR_MACHINE_H

#include "Program.h"
#include "SharedMemory.h"
#include "amp/PtxEmulator/Interpreter/Launch.h"
#include "amp/PtxEmulator/Interpreter/TensorMap.h"
#include <unordered_map>

namespace amp::ptx {

/// Lanes at one place. Lanes that wait for others of their warp are parked.
struct Group {
  int32_t pc;
  uint32_t mask;
  bool parked = false;
  std::vector<int32_t> returns;
  bool forced = false;
};

/// A cp.async that was issued and has not landed.
struct PendingCopy {
  uint32_t destination;
  uint64_t source;
  uint8_t bytes, sourceBytes;
};

/// A wgmma that was issued and has not been waited for.
struct PendingWgmma {
  const Inst *inst;
  uint64_t aDescriptor, bDescriptor;
  bool scaleD;
  /// A from registers: the rows at the issue.
  std::vector<uint32_t> a;
};

/// A bulk copy between global and shared memory that is under way.
struct PendingBulk {
  const Inst *inst = nullptr;
  uint32_t shared = 0, bytes = 0, warp = 0;
  /// Where it completes, if it goes into shared memory.
  uint32_t barrier = 0;
  /// Of plain bytes.
  uint64_t global = 0;
  bool isTensor = false;
  TensorMap map;
  int32_t coordinates[maxTensorRank] = {};
  /// Somebody has waited for it: it lands the next time.
  bool isAwaited = false;
  /// What its issuer knew.
  Clock clock;
};

enum class WarpState : uint8_t { Ready, AtBarrier, Yielded, Done };

struct AlignedBytes {
  void resize(size_t bytes);
  uint8_t *data() { return start; }

private:
  std::unique_ptr<uint8_t[]> storage;
  uint8_t *start = nullptr;
};

struct Warp {
  uint32_t id = 0, live = 0;
  WarpState state = WarpState::Ready;
  AlignedBytes rows;
  std::vector<uint32_t> predicates;
  std::vector<uint8_t> local;
  std::vector<Group> groups;
  uint64_t instructions = 0;
  uint32_t blockedLine = 0, barrierId = 0;
  /// A bar.red that waits, and its lanes.
  const Inst *reduction = nullptr;
  uint32_t reductionMask = 0;
  // cp.async: groups are ends in `copies`.
  std::vector<PendingCopy> copies;
  std::vector<size_t> copyGroups;
  // Bulk copies out of shared memory: groups are ends in `bulkStores`.
  std::vector<PendingBulk> bulkStores;
  std::vector<size_t> bulkGroups;
  /// A wait that failed once: the next time other warps run first.
  const Inst *failedWait = nullptr;
  // wgmma: groups are ends in `wgmmas`; accumulators by row offset.
  std::vector<PendingWgmma> wgmmas;
  std::vector<size_t> wgmmaGroups;
  std::unordered_map<uint32_t, std::array<uint32_t, 32>> accumulators;
  bool wgmmaFenced = false;
};

/// bar.sync and its kin; `expected` threads, or all if 0.
struct NamedBarrier {
  uint32_t arrived = 0, expected = 0;
  /// Warps that wait, and warps that went on with what they had done.
  std::vector<uint32_t> waiting, arrivers;
  std::vector<Clock> arrivedClocks;
  // bar.red
  uint32_t population = 0, participants = 0;
};

/// The last stands for the barrier of the cluster.
constexpr uint32_t numBarriers = 17, clusterBarrier = 16;

struct Mbarrier {
  uint32_t expected = 0, pending = 0, phase = 0;
  int64_t transactions = 0;
  /// The warp that initialised it, and when.
  uint32_t owner = 0, made = 0;
  /// What has arrived so far, and what had when the last phase ended.
  Clock arriving, completed;
};

struct Block;

enum class Event : uint8_t {
  None,
  Branch, ///< active lanes go to `target`
  Split,  ///< lanes go to `splits`
  Exit,
  Call,
  Return,
  Barrier, ///< the warp waits in `barrierId`
  Yield,   ///< other warps run, then the next instruction
  Retry,   ///< other warps run, then this instruction again
  Park     ///< other lanes of this warp run first
};

/// State of one worker thread, as handlers see it.
struct Context {
  uint8_t *rows = nullptr;
  uint32_t *predicates = nullptr;
  /// Active lanes: of the group, less those whose guard is false.
  uint32_t mask = 0;
  Event event = Event::None;
  int32_t target = -1;
  Warp *warp = nullptr;
  Block *block = nullptr;
  const Program *program = nullptr;
  const Launch *launch = nullptr;
  bool checks = true;
  /// All lanes of the warp wait for one another: this group goes on.
  bool isForced = false;
  const std::vector<MemoryRange> *ranges = nullptr;
  MemoryRange lastRange{1, 0, nullptr};
  std::vector<std::pair<int32_t, uint32_t>> splits;
  Counters counters;
  std::vector<LineCounters> lines; // by instruction
  std::vector<Finding> findings;
  std::unordered_map<uint64_t, uint32_t> findingsOfLine;

  template <typename T> T *row(uint32_t offset) const {
    return reinterpret_cast<T *>(rows + offset);
  }
  bool isActive(unsigned lane) const { return mask >> lane & 1; }
  unsigned getFirstLane() const { return __builtin_ctz(mask); }
  void setPredicate(uint32_t number, uint32_t bits) {
    predicates[number] = (predicates[number] & ~mask) | (bits & mask);
  }
  const std::vector<uint32_t> &lists() const { return program->lists; }

  void report(const Inst &inst, FindingKind kind, unsigned lane,
              uint64_t address, std::string message);
  /// Whether all live lanes of `members` are here; if not and they may come
  /// the group is parked, if they cannot that is a finding.
  bool isConverged(const Inst &inst, uint32_t members);
  const MemoryRange *findRange(uint64_t address, uint64_t bytes);
  LineCounters &lineOf(const Inst &inst) {
    return lines[&inst - program->code.data()];
  }
};

/// A block that runs, with the memory its warps share.
struct Block {
  std::array<uint32_t, 3> id{0, 0, 0};
  uint32_t numThreads = 0;
  std::vector<Warp> warps;
  SharedMemory shared;
  NamedBarrier barriers[numBarriers];
  std::unordered_map<uint32_t, Mbarrier> mbarriers;
  std::vector<PendingBulk> bulks;
  /// Counts arrivals, landings and the like: no change means no progress.
  uint64_t progress = 0;
};

/// Gives a warp the result of its bar.red, if it waited for one.
void finishReduction(Warp &warp, const NamedBarrier &from);
/// Runs one block to its end.
void runBlock(Context &context, Block &block);
/// Runs the warp until it waits or ends.
void runWarp(Context &context, Warp &warp);

} // namespace amp::ptx

#endif // AMP_PTXEMULATOR_MACHINE_H
