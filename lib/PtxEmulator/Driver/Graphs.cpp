//===- Graphs.cpp - Graphs ------------------------------------------------===//
// A graph runs in a random order that its edges allow, so that a missing edge
// shows; the seed makes the order repeatable.
//===----------------------------------------------------------------------===//

#include "State.h"
#include <algorithm>
#include <unordered_map>

using namespace amp;
using namespace amp::ptx;

static bool hasNode(const CUgraph_st *graph, cuda::GraphNode node) {
  return std::any_of(graph->nodes.begin(), graph->nodes.end(),
                     [=](const auto &each) { return each.get() == node; });
}

cuda::Result amp::ptx::addNode(cuda::GraphNode *node, cuda::Graph graph,
                               const cuda::GraphNode *after, size_t numAfter,
                               DriverAction action) {
  Driver &driver = Driver::get();
  if (!node || (numAfter && !after))
    return cuda::result::invalidValue;
  if (!driver.graphs.count(graph))
    return cuda::result::invalidHandle;
  for (size_t i = 0; i < numAfter; ++i)
    if (!hasNode(graph, after[i]))
      return driver.fail(cuda::result::invalidValue,
                         "a node depends on one that is not in its graph");
  auto made = std::make_unique<CUgraphNode_st>();
  made->action = std::move(action);
  made->after.assign(after, after + numAfter);
  *node = made.get();
  graph->nodes.push_back(std::move(made));
  return cuda::result::success;
}

AMP_DRIVER_API cuGraphCreate(cuda::Graph *graph, unsigned flags) {
  AMP_DRIVER_ENTER();
  if (!graph || flags)
    return cuda::result::invalidValue;
  *graph = new CUgraph_st;
  driver.graphs.insert(*graph);
  return cuda::result::success;
}

AMP_DRIVER_API cuGraphDestroy(cuda::Graph graph) {
  AMP_DRIVER_ENTER();
  if (!driver.graphs.erase(graph))
    return cuda::result::invalidHandle;
  delete graph;
  return cuda::result::success;
}

/// Parameters are copied now, as the driver does.
static cuda::Result makeLaunch(Driver &driver,
                               const cuda::KernelNodeParams *params,
                               DriverAction &action) {
  if (!params || params->extra)
    return cuda::result::invalidValue;
  CUfunc_st *function = params->function;
  if (!driver.functions.count(function))
    return cuda::result::invalidHandle;
  if (!params->parameters && function->kernel->getParameterBytes())
    return driver.fail(cuda::result::invalidValue,
                       "the kernel's parameters are missing");
  auto copy = *params;
  action = [copy, function,
            packed = packParameters(function, params->parameters)] {
    return launch(function, copy.grid, copy.block, copy.sharedBytes, packed);
  };
  return cuda::result::success;
}

AMP_DRIVER_API cuGraphAddKernelNode_v2(cuda::GraphNode *node, cuda::Graph graph,
                                       const cuda::GraphNode *after,
                                       size_t numAfter,
                                       const cuda::KernelNodeParams *params) {
  AMP_DRIVER_ENTER();
  DriverAction action;
  if (cuda::Result error = makeLaunch(driver, params, action))
    return error;
  return addNode(node, graph, after, numAfter, std::move(action));
}

/// Address of a row of one side of a copy.
static uint64_t getRow(const cuda::CopyEnd &end, size_t row, size_t slice) {
  uint64_t base = end.memoryType == cuda::memoryHost
                      ? reinterpret_cast<uint64_t>(end.host)
                      : end.device;
  size_t rows = std::max<size_t>(end.height, 1);
  return base + end.xBytes + end.pitch * (end.y + row) +
         end.pitch * rows * (end.z + slice);
}

static cuda::Result copyBox(const cuda::CopyParams &params) {
  for (size_t slice = 0; slice < std::max<size_t>(params.depth, 1); ++slice)
    for (size_t row = 0; row < std::max<size_t>(params.height, 1); ++row)
      if (cuda::Result error =
              copyMemory(getRow(params.target, row, slice),
                         params.target.memoryType == cuda::memoryDevice,
                         getRow(params.source, row, slice),
                         params.source.memoryType == cuda::memoryDevice,
                         params.widthBytes))
        return error;
  return cuda::result::success;
}

AMP_DRIVER_API cuGraphAddMemcpyNode(cuda::GraphNode *node, cuda::Graph graph,
                                    const cuda::GraphNode *after,
                                    size_t numAfter,
                                    const cuda::CopyParams *params,
                                    cuda::Context context) {
  (void)context;
  AMP_DRIVER_ENTER();
  if (!params)
    return cuda::result::invalidValue;
  for (const cuda::CopyEnd *end : {&params->source, &params->target})
    if (end->array || end->lod ||
        (end->memoryType != cuda::memoryHost &&
         end->memoryType != cuda::memoryDevice))
      return driver.fail(cuda::result::notSupported,
                         "copies are between host and device memory here");
  auto copy = *params;
  return addNode(node, graph, after, numAfter,
                 [copy] { return copyBox(copy); });
}

AMP_DRIVER_API cuGraphAddMemsetNode(cuda::GraphNode *node, cuda::Graph graph,
                                    const cuda::GraphNode *after,
                                    size_t numAfter,
                                    const cuda::MemsetNodeParams *params,
                                    cuda::Context context) {
  (void)context;
  AMP_DRIVER_ENTER();
  if (!params || (params->elementBytes != 1 && params->elementBytes != 2 &&
                  params->elementBytes != 4))
    return cuda::result::invalidValue;
  auto copy = *params;
  return addNode(node, graph, after, numAfter, [copy]() -> cuda::Result {
    for (size_t row = 0; row < std::max<size_t>(copy.height, 1); ++row)
      if (cuda::Result error =
              fillMemory(copy.target + row * copy.pitch, copy.value,
                         copy.elementBytes, copy.width))
        return error;
    return cuda::result::success;
  });
}

AMP_DRIVER_API cuGraphAddDependencies(cuda::Graph graph,
                                      const cuda::GraphNode *from,
                                      const cuda::GraphNode *to, size_t count) {
  AMP_DRIVER_ENTER();
  if (!driver.graphs.count(graph))
    return cuda::result::invalidHandle;
  if (count && (!from || !to))
    return cuda::result::invalidValue;
  for (size_t i = 0; i < count; ++i) {
    if (!hasNode(graph, from[i]) || !hasNode(graph, to[i]))
      return cuda::result::invalidValue;
    to[i]->after.push_back(from[i]);
  }
  return cuda::result::success;
}

namespace {
/// Steps that may run, as others are done.
class Frontier {
public:
  explicit Frontier(const CUgraphExec_st &exec) : exec(exec) {
    for (size_t i = 0; i < exec.steps.size(); ++i) {
      left.push_back(exec.steps[i].numAfter);
      if (!left[i])
        ready.push_back(i);
    }
  }
  bool empty() const { return ready.empty(); }
  size_t size() const { return ready.size(); }
  /// Takes one of the steps that may run.
  size_t take(size_t which) {
    size_t step = ready[which];
    ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(which));
    for (size_t next : exec.steps[step].before)
      if (--left[next] == 0)
        ready.push_back(next);
    return step;
  }

private:
  const CUgraphExec_st &exec;
  std::vector<size_t> left, ready;
};
} // namespace

static bool isAcyclic(const CUgraphExec_st &exec) {
  size_t done = 0;
  for (Frontier frontier(exec); !frontier.empty(); ++done)
    frontier.take(frontier.size() - 1);
  return done == exec.steps.size();
}

AMP_DRIVER_API
cuGraphInstantiateWithParams(cuda::GraphExec *exec, cuda::Graph graph,
                             cuda::GraphInstantiateParams *params) {
  AMP_DRIVER_ENTER();
  static constexpr int invalidStructure = 2;
  if (!exec || !params)
    return cuda::result::invalidValue;
  if (!driver.graphs.count(graph))
    return cuda::result::invalidHandle;
  auto made = std::make_unique<CUgraphExec_st>();
  std::unordered_map<const CUgraphNode_st *, size_t> index;
  for (const auto &node : graph->nodes) {
    index[node.get()] = made->steps.size();
    made->steps.push_back({node.get(), node->action, {}, node->after.size()});
  }
  for (const auto &node : graph->nodes)
    for (const CUgraphNode_st *before : node->after)
      made->steps[index.at(before)].before.push_back(index.at(node.get()));
  params->outcome = 0;
  if (!isAcyclic(*made)) {
    params->outcome = invalidStructure;
    return driver.fail(cuda::result::invalidValue, "the graph has a cycle");
  }
  driver.execs.insert(made.get());
  *exec = made.release();
  return cuda::result::success;
}

AMP_DRIVER_API
cuGraphExecKernelNodeSetParams_v2(cuda::GraphExec exec, cuda::GraphNode node,
                                  const cuda::KernelNodeParams *params) {
  AMP_DRIVER_ENTER();
  if (!driver.execs.count(exec))
    return cuda::result::invalidHandle;
  DriverAction action;
  if (cuda::Result error = makeLaunch(driver, params, action))
    return error;
  for (CUgraphExec_st::Step &step : exec->steps)
    if (step.node == node) {
      step.action = std::move(action);
      return cuda::result::success;
    }
  return cuda::result::invalidValue;
}

AMP_DRIVER_API cuGraphExecDestroy(cuda::GraphExec exec) {
  AMP_DRIVER_ENTER();
  if (!driver.execs.erase(exec))
    return cuda::result::invalidHandle;
  delete exec;
  return cuda::result::success;
}

AMP_DRIVER_API cuGraphUpload(cuda::GraphExec exec, cuda::Stream stream) {
  (void)stream;
  AMP_DRIVER_ENTER();
  return driver.execs.count(exec) ? cuda::result::success
                                  : cuda::result::invalidHandle;
}

static cuda::Result runGraph(const CUgraphExec_st &exec) {
  for (Frontier frontier(exec); !frontier.empty();) {
    size_t step = frontier.take(Driver::get().order() % frontier.size());
    if (cuda::Result error = exec.steps[step].action())
      return error;
  }
  return cuda::result::success;
}

AMP_DRIVER_API cuGraphLaunch(cuda::GraphExec exec, cuda::Stream stream) {
  AMP_DRIVER_ENTER();
  if (!driver.execs.count(exec))
    return cuda::result::invalidHandle;
  return enqueue(stream, [exec] { return runGraph(*exec); });
}
