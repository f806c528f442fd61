//===- State.h - What the stand-in for the driver keeps ---------*- C++ -*-===//
// One device, its memory, and everything handles stand for.
//===----------------------------------------------------------------------===//

#ifndef AMP_PTXEMULATOR_DRIVER_STATE_H
#define AMP_PTXEMULATOR_DRIVER_STATE_H

#include "amp/PtxEmulator/Interpreter/Launch.h"
#include "amp/Runtime/Cuda/DriverApi.h"
#include <functional>
#include <mutex>
#include <random>
#include <set>

#define AMP_DRIVER_API                                                         \
  extern "C" __attribute__((visibility("default"))) amp::cuda::Result

namespace amp::cuda {

struct CUmod_st {
  std::unique_ptr<ptx::Module> module;
  std::map<std::string, std::unique_ptr<CUfunc_st>> functions;
};

struct CUfunc_st {
  const ptx::Kernel *kernel;
  unsigned maxDynamicShared;
};

using DriverAction = std::function<Result()>;

struct CUgraphNode_st {
  DriverAction action;
  std::vector<CUgraphNode_st *> after;
};

struct CUgraph_st {
  std::vector<std::unique_ptr<CUgraphNode_st>> nodes;
};

struct CUgraphExec_st {
  struct Step {
    const CUgraphNode_st *node; // identity only: the graph may be gone
    DriverAction action;
    std::vector<size_t> before;
    size_t numAfter = 0;
  };
  std::vector<Step> steps;
};

/// Work is done when it is enqueued, or recorded while a capture goes on.
struct CUstream_st {
  CUgraph_st *capture = nullptr;
  std::vector<CUgraphNode_st *> frontier;
};

struct CUevent_st {
  bool isRecorded = false;
  double seconds = 0;
};

} // namespace amp::cuda

namespace amp::ptx {

using cuda::CUctx_st, cuda::CUmod_st, cuda::CUfunc_st, cuda::CUgraphNode_st,
    cuda::CUgraph_st, cuda::CUgraphExec_st, cuda::CUstream_st, cuda::CUevent_st,
    cuda::DriverAction;

/// What the environment asks for; read once, by cuInit.
struct Options {
  int capability = 80; ///< AMP_EMULATOR_CC: 80 or "9.0"
  uint64_t seed = 1;   ///< AMP_EMULATOR_SEED
  CheckLevel checks = CheckLevel::All;
  unsigned threads = 1;
  uint64_t memoryBytes = uint64_t(16) << 30;
  std::string log;
};

/// Reads the environment; false, with the reason, if a value is wrong.
bool readOptions(Options &options, std::string &error);

/// Rows of what happened, to stderr or to a file of JSON lines.
class Log {
public:
  void open(const std::string &path);
  void addLaunch(const Kernel &kernel, const LaunchReport &report);
  /// A message that is no finding.
  void addMessage(const std::string &text);
  /// Writes the sums per kernel and forgets them.
  void flush();

private:
  struct Sums {
    uint64_t launches = 0;
    Counters counters;
    std::map<std::pair<uint32_t, bool>, LineCounters> lines;
  };
  void write(const std::string &row);
  std::string path;
  std::map<std::string, Sums> kernels;
};

class Driver {
public:
  static Driver &get();
  ~Driver();

  cuda::Result initialise();
  bool isInitialised() const { return memory != nullptr; }
  /// Held by each call of the interface.
  std::recursive_mutex mutex;
  Options options;
  std::unique_ptr<DeviceMemory> memory;
  Log log;
  std::mt19937_64 order;
  unsigned contextUses = 0;
  cuda::Context current = nullptr;
  /// An error of a launch stays until the context is released.
  cuda::Result sticky = cuda::result::success;
  std::string lastError;
  CUstream_st defaultStream;

  std::set<CUmod_st *> modules;
  std::set<CUfunc_st *> functions;
  std::set<CUgraph_st *> graphs;
  std::set<CUgraphExec_st *> execs;
  std::set<CUstream_st *> streams;
  std::set<CUevent_st *> events;
  std::set<void *> hostBlocks;

  /// Notes what is wrong, for cuGetErrorString, and returns `error`.
  cuda::Result fail(cuda::Result error, const std::string &why);
  void releaseContext();
};

/// Sum of static and dynamic shared memory a block may ask for.
unsigned getMaxShared(int capability);

cuda::Result launch(CUfunc_st *function, const unsigned grid[3],
                    const unsigned block[3], unsigned sharedBytes,
                    const std::vector<uint8_t> &parameters);
/// The values the pointers point to, as the kernel's buffer wants them.
std::vector<uint8_t> packParameters(const CUfunc_st *function, void **values);
/// Runs the action now, or records it if the stream is captured.
cuda::Result enqueue(cuda::Stream stream, DriverAction action);
cuda::Result addNode(cuda::GraphNode *node, cuda::Graph graph,
                     const cuda::GraphNode *after, size_t numAfter,
                     DriverAction action);
/// Copies between device and host memory, with checks and states.
cuda::Result copyMemory(uint64_t to, bool toDevice, uint64_t from,
                        bool fromDevice, size_t bytes);
cuda::Result fillMemory(uint64_t to, unsigned value, unsigned elementBytes,
                        size_t count);

} // namespace amp::ptx

/// Begins a call: takes the lock, and fails before cuInit.
#define AMP_DRIVER_ENTER()                                                     \
  amp::ptx::Driver &driver = amp::ptx::Driver::get();                          \
  std::lock_guard<std::recursive_mutex> driverLock(driver.mutex);              \
  if (!driver.isInitialised())                                                 \
  return amp::cuda::result::notInitialized

#endif // AMP_PTXEMULATOR_DRIVER_STATE_H
