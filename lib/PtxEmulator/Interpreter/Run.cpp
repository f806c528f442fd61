//===- Run.cpp - Blocks of a launch ---------------------------------------===//
// Blocks are spread over threads; the warps of one take turns, and a block in
// which nothing moves any more hangs.
//===----------------------------------------------------------------------===//

#include "Machine.h"
#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <thread>

using namespace amp::ptx;

//===----------------------------------------------------------------------===//
// One block
//===----------------------------------------------------------------------===//

/// Lets the warps go on that wait in a barrier which is complete.
static void releaseBarriers(Context &context, Block &block) {
  uint32_t live = 0;
  for (const Warp &warp : block.warps)
    live += warp.state != WarpState::Done;
  for (NamedBarrier &barrier : block.barriers) {
    uint32_t expected = barrier.expected ? barrier.expected : live * numLanes;
    if (!barrier.arrived || barrier.arrived < expected)
      continue;
    if (context.checks) {
      for (const Clock &clock : barrier.arrivedClocks)
        for (uint32_t warp : barrier.waiting)
          block.shared.acquire(warp, clock);
      block.shared.synchronise(barrier.waiting);
    }
    for (uint32_t id : barrier.waiting) {
      finishReduction(block.warps[id], barrier);
      block.warps[id].state = WarpState::Ready;
    }
    barrier = NamedBarrier();
    block.progress++;
  }
}

static uint64_t mix(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ull;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebull;
  return value ^ (value >> 31);
}

/// The order in which warps get their turn: another in each round.
static std::vector<uint32_t> getOrder(uint64_t seed, uint32_t count) {
  std::vector<uint32_t> order(count);
  for (uint32_t i = 0; i < count; ++i)
    order[i] = i;
  if (seed)
    for (uint32_t i = count; i > 1; --i) {
      seed = mix(seed);
      std::swap(order[i - 1], order[seed % i]);
    }
  return order;
}

static void reportHang(Context &context, Block &block, const char *why) {
  for (Warp &warp : block.warps) {
    if (warp.state == WarpState::Done)
      continue;
    context.warp = &warp;
    Inst inst;
    inst.line = warp.blockedLine;
    bool inBarrier = warp.state == WarpState::AtBarrier;
    context.report(inst, FindingKind::Hang, 0, 0,
                   inBarrier ? "the block hangs: the warp waits in barrier " +
                                   std::to_string(warp.barrierId)
                             : std::string("the block hangs: ") + why);
  }
}

/// False if a warp ran too long.
static bool checkBudget(Context &context, Block &block, const Warp &warp) {
  if (warp.instructions <= context.launch->maxInstructionsPerWarp)
    return true;
  reportHang(context, block, "the warp ran too many instructions");
  return false;
}

void amp::ptx::runBlock(Context &context, Block &block) {
  uint64_t seed = context.launch->seed;
  uint64_t round = mix(block.id[0] + 0x10001 * block.id[1] + block.id[2]);
  uint32_t idle = 0;
  while (true) {
    bool anyLive = false, anyRan = false;
    uint64_t before = block.progress;
    uint32_t count = static_cast<uint32_t>(block.warps.size());
    for (uint32_t id : getOrder(seed ? mix(seed + round++) : 0, count)) {
      Warp &warp = block.warps[id];
      anyLive |= warp.state != WarpState::Done;
      if (warp.state != WarpState::Ready && warp.state != WarpState::Yielded)
        continue;
      anyRan = true;
      runWarp(context, warp);
      if (!checkBudget(context, block, warp))
        return;
      releaseBarriers(context, block);
    }
    if (!anyLive)
      return;
    // A warp that polls may need a round to see what others did.
    idle = block.progress == before ? idle + 1 : 0;
    if (!anyRan || idle > 2)
      return reportHang(context, block, "the warp waits for what nobody does");
  }
}

//===----------------------------------------------------------------------===//
// Setting a block up
//===----------------------------------------------------------------------===//

static uint64_t getSpecial(const Context &context, const Block &block,
                           SpecialKind kind, uint32_t thread) {
  const Launch &launch = *context.launch;
  uint32_t lane = thread % numLanes, x = launch.block[0], y = launch.block[1];
  uint32_t dynamic = launch.dynamicShared;
  switch (kind) {
  case SpecialKind::TidX:
    return thread % x;
  case SpecialKind::TidY:
    return thread / x % y;
  case SpecialKind::TidZ:
    return thread / x / y;
  case SpecialKind::NtidX:
  case SpecialKind::NtidY:
  case SpecialKind::NtidZ:
    return launch.block[int(kind) - int(SpecialKind::NtidX)];
  case SpecialKind::CtaidX:
  case SpecialKind::CtaidY:
  case SpecialKind::CtaidZ:
    return block.id[int(kind) - int(SpecialKind::CtaidX)];
  case SpecialKind::NctaidX:
  case SpecialKind::NctaidY:
  case SpecialKind::NctaidZ:
    return launch.grid[int(kind) - int(SpecialKind::NctaidX)];
  case SpecialKind::LaneId:
    return lane;
  case SpecialKind::WarpId:
    return thread / numLanes;
  case SpecialKind::NumWarps:
    return block.warps.size();
  case SpecialKind::LaneMaskEq:
    return uint32_t(1) << lane;
  case SpecialKind::LaneMaskLt:
    return (uint32_t(1) << lane) - 1;
  case SpecialKind::LaneMaskLe:
    return (uint32_t(2) << lane) - 1;
  case SpecialKind::LaneMaskGt:
    return ~((uint32_t(2) << lane) - 1);
  case SpecialKind::LaneMaskGe:
    return ~((uint32_t(1) << lane) - 1);
  case SpecialKind::DynamicShared:
    return dynamic;
  case SpecialKind::TotalShared:
    return context.program->staticShared + dynamic;
  case SpecialKind::Zero:
    return 0;
  case SpecialKind::One:
    return 1;
  }
  return 0;
}

static void setElement(uint8_t *row, uint32_t bytes, unsigned lane,
                       uint64_t value) {
  std::memcpy(row + lane * bytes, &value, std::min(bytes, 8u));
}

/// Registers with constants; done once for a worker.
static void prepareWarps(Context &context, Block &block) {
  const Program &program = *context.program;
  for (uint32_t id = 0; id < block.warps.size(); ++id) {
    Warp &warp = block.warps[id];
    warp.id = id;
    warp.rows.resize(program.rowBytes);
    warp.predicates.assign(program.numPredicates, 0);
    warp.predicates[Program::always] = allLanes;
    warp.local.resize(size_t(program.localBytes) * numLanes);
    for (const Program::Constant &constant : program.constants)
      for (unsigned lane = 0; lane < numLanes; ++lane)
        setElement(warp.rows.data() + constant.offset, constant.bytes, lane,
                   constant.value);
  }
}

static void startBlock(Context &context, Block &block, uint64_t index) {
  const auto &grid = context.launch->grid;
  block.id = {static_cast<uint32_t>(index % grid[0]),
              static_cast<uint32_t>(index / grid[0] % grid[1]),
              static_cast<uint32_t>(index / grid[0] / grid[1])};
  block.shared.reset();
  block.mbarriers.clear();
  block.bulks.clear();
  for (NamedBarrier &barrier : block.barriers)
    barrier = NamedBarrier();
  for (Warp &warp : block.warps) {
    uint32_t left = block.numThreads - warp.id * numLanes;
    warp.live = left >= numLanes ? allLanes : (uint32_t(1) << left) - 1;
    warp.state = WarpState::Ready;
    warp.groups.assign(1, Group{0, warp.live, false, {}, false});
    warp.instructions = 0;
    warp.copies.clear();
    warp.copyGroups.clear();
    warp.bulkGroups.clear();
    warp.bulkStores.clear();
    warp.failedWait = nullptr;
    warp.wgmmas.clear();
    warp.wgmmaGroups.clear();
    warp.accumulators.clear();
    std::memset(warp.local.data(), 0xff, warp.local.size());
    for (const Program::SpecialRow &row : context.program->specials)
      for (unsigned lane = 0; lane < numLanes; ++lane)
        setElement(
            warp.rows.data() + row.offset, row.bytes, lane,
            getSpecial(context, block, row.kind, warp.id * numLanes + lane));
  }
}

/// Asynchronous work that nothing waited for.
static void finishBlock(Context &context, Block &block) {
  if (!context.checks || !context.findings.empty())
    return;
  Inst end;
  end.line = context.program->code.back().line;
  for (Warp &warp : block.warps) {
    context.warp = &warp;
    const char *what = !warp.copies.empty()       ? "asynchronous copies"
                       : !warp.bulkStores.empty() ? "bulk copies"
                       : !warp.wgmmas.empty()     ? "wgmma"
                                                  : nullptr;
    if (what)
      context.report(end, FindingKind::AsyncCopy, 0, 0,
                     std::string("the kernel ends with ") + what +
                         " under way");
  }
  if (!block.bulks.empty()) {
    context.warp = &block.warps[block.bulks[0].warp];
    context.report(*block.bulks[0].inst, FindingKind::AsyncCopy, 0,
                   block.bulks[0].shared,
                   "the kernel ends before this copy is waited for");
  }
}

//===----------------------------------------------------------------------===//
// The launch
//===----------------------------------------------------------------------===//

namespace {
class Launcher {
public:
  Launcher(const Program &program, const Launch &launch, DeviceMemory &memory)
      : program(program), launch(launch), ranges(memory.getRanges()) {}
  LaunchReport run();

private:
  bool checkGeometry();
  void work();
  void merge(Context &context);

  const Program &program;
  const Launch &launch;
  std::vector<MemoryRange> ranges;
  uint64_t numBlocks = 0;
  uint32_t numThreads = 0;
  std::atomic<uint64_t> next{0};
  std::atomic<bool> stop{false};
  std::mutex mutex;
  LaunchReport report;
  std::vector<LineCounters> lines;
};
} // namespace

bool Launcher::checkGeometry() {
  uint64_t threads =
      uint64_t(launch.block[0]) * launch.block[1] * launch.block[2];
  numBlocks = uint64_t(launch.grid[0]) * launch.grid[1] * launch.grid[2];
  std::string wrong;
  const auto &required = program.requiredBlock;
  if (threads == 0 || numBlocks == 0)
    wrong = "the grid or the block is empty";
  else if (threads > program.maxThreads)
    wrong = "the block has " + std::to_string(threads) +
            " threads, and the kernel allows " +
            std::to_string(program.maxThreads);
  else if (required[0] && required != launch.block)
    wrong = "the block is not the one .reqntid asks for";
  else if (program.parameterBytes && !launch.parameters)
    wrong = "the kernel has parameters and none are given";
  if (wrong.empty()) {
    numThreads = static_cast<uint32_t>(threads);
    return true;
  }
  report.findings.push_back({FindingKind::Unsupported,
                             program.name,
                             0,
                             {0, 0, 0},
                             {0, 0, 0},
                             0,
                             wrong,
                             ""});
  return false;
}

void Launcher::work() {
  Context context;
  context.program = &program;
  context.launch = &launch;
  context.ranges = &ranges;
  context.checks = launch.checks == CheckLevel::All;
  context.lines.resize(program.code.size());
  Block block;
  block.numThreads = numThreads;
  block.warps.resize((numThreads + numLanes - 1) / numLanes);
  block.shared.resize(program.staticShared + launch.dynamicShared,
                      static_cast<uint32_t>(block.warps.size()),
                      program.granuleShift, context.checks);
  context.block = &block;
  prepareWarps(context, block);
  for (uint64_t index; !stop && (index = next++) < numBlocks;) {
    startBlock(context, block, index);
    runBlock(context, block);
    finishBlock(context, block);
    for (const Finding &finding : context.findings)
      if (finding.kind == FindingKind::Hang ||
          finding.kind == FindingKind::Trap)
        stop = true;
  }
  merge(context);
}

void Launcher::merge(Context &context) {
  std::lock_guard<std::mutex> lock(mutex);
  report.counters.add(context.counters);
  report.findings.insert(report.findings.end(), context.findings.begin(),
                         context.findings.end());
  lines.resize(program.code.size());
  for (size_t i = 0; i < lines.size(); ++i) {
    const LineCounters &from = context.lines[i];
    lines[i].isShared |= from.isShared;
    lines[i].requests += from.requests;
    lines[i].bankConflicts += from.bankConflicts;
    lines[i].sectors += from.sectors;
    lines[i].idealSectors += from.idealSectors;
  }
}

LaunchReport Launcher::run() {
  if (!checkGeometry())
    return std::move(report);
  uint64_t threads = program.isOrdered ? 1 : std::max(1u, launch.threads);
  threads = std::min(threads, numBlocks);
  std::vector<std::thread> workers;
  for (uint64_t i = 1; i < threads; ++i)
    workers.emplace_back([this] { work(); });
  work();
  for (std::thread &worker : workers)
    worker.join();
  for (size_t i = 0; i < lines.size(); ++i) {
    if (!lines[i].requests)
      continue;
    lines[i].line = program.code[i].line;
    lines[i].instruction = program.source->getLine(lines[i].line);
    report.lines.push_back(std::move(lines[i]));
  }
  std::sort(report.findings.begin(), report.findings.end(),
            [](const Finding &a, const Finding &b) {
              return std::tie(a.block[2], a.block[1], a.block[0], a.line,
                              a.thread, a.kind, a.address) <
                     std::tie(b.block[2], b.block[1], b.block[0], b.line,
                              b.thread, b.kind, b.address);
            });
  return std::move(report);
}

LaunchReport amp::ptx::run(const Kernel &kernel, const Launch &launch,
                           DeviceMemory &memory) {
  return Launcher(kernel.getProgram(), launch, memory).run();
}

bool amp::ptx::isHostSupported(std::string &missing) {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2"))
    missing = "AVX2";
  else if (!__builtin_cpu_supports("fma"))
    missing = "FMA";
  else if (!__builtin_cpu_supports("f16c"))
    missing = "F16C";
#endif
  return missing.empty();
}
