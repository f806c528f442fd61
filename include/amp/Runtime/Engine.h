//===- Engine.h - Where tensors live and entries run ------------*- C++ -*-===//
// What a session asks of a target: memory of tensors, and running an entry.
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_ENGINE_H
#define AMP_RUNTIME_ENGINE_H

#include "amp-c/amp.h"
#include "amp/Runtime/Artifact.h"
#include <functional>

namespace amp::runtime {

class Engine {
public:
  virtual ~Engine() = default;

  /// Gives all state memory, zeroed.
  virtual void allocateState() = 0;
  /// Called once, when the initial values are in place.
  virtual void prepare() = 0;

  /// The value of tensor `id` in host memory, until the next call that changes
  /// it; null while it has no memory, or no value yet.
  virtual const char *read(size_t id) = 0;
  using Change = std::function<void(char *value)>;
  /// Lets `change` write the value of a tensor that has one.
  virtual void update(size_t id, const Change &change) = 0;
  /// Where the tensor lies, for callers that work on it themselves: host memory
  /// or memory of the device. Null while it has no memory.
  virtual void *getAddress(size_t id) const = 0;
  virtual bool isOnHost() const = 0;

  /// Moves a state tensor into memory of the caller that is large enough and
  /// lies where tensors lie; null moves it back.
  virtual void bind(size_t id, void *target) = 0;

  /// Runs the entry of that number. `memory` has one pointer into host memory
  /// for each of its tensors: where inputs are, and where results are wanted
  /// (null: not at all). What is state has null.
  virtual void run(size_t entry, const std::vector<void *> &memory) = 0;

  virtual void setThreads(unsigned threads) = 0;
  virtual unsigned getThreads() const = 0;
  /// What the artifact is for and runs on, for people.
  virtual std::string describe() const = 0;
};

/// The engine for the artifact's target; `artifact` and `options` outlive it.
std::unique_ptr<Engine> createEngine(const Artifact &artifact,
                                     const amp_options &options);

// By target.
std::unique_ptr<Engine> createCpuEngine(const Artifact &artifact,
                                        const amp_options &options);
std::unique_ptr<Engine> createCudaEngine(const Artifact &artifact,
                                         const amp_options &options);

} // namespace amp::runtime

#endif // AMP_RUNTIME_ENGINE_H
