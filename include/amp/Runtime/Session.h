//===- Session.h - A step that is loaded and has state ----------*- C++ -*-===//
// What a handle of the C interface is: tensors, entries, threads, schedule.
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_SESSION_H
#define AMP_RUNTIME_SESSION_H

#include "amp/Runtime/Artifact.h"
#include "amp/Runtime/Memory.h"
#include "amp/Runtime/Schedule.h"
#include "amp/Runtime/ThreadPool.h"

namespace amp::runtime {

/// Names that both sides of the artifact know.
namespace names {
constexpr const char *trainStep = "train_step", *evalStep = "eval_step",
                     *infer = "infer", *trainGradients = "train_gradients",
                     *trainApply = "train_apply";
constexpr const char *lr = "lr", *scale = "scaler.scale",
                     *applied = "train.applied_steps",
                     *iteration = "train.iteration", *skipped = "train.skipped",
                     *foundInf = "found_inf", *gradNorm = "grad_norm",
                     *ranksFoundInf = "ranks.found_inf";
} // namespace names

/// Memory of the caller, as `amp_buffer`.
struct Binding {
  std::optional<std::string> name;
  void *data;
  DType dtype;
  Shape shape;
};

/// A hyper-parameter: its value is `base` times the schedule's factor when it
/// is a learning rate, and `base` when it is `fixed` or no learning rate.
struct Hyper {
  double base;
  bool fixed;
};

class Session {
public:
  Session(const std::string &path, const amp_options &options);

  const Manifest &getManifest() const { return artifact.manifest; }
  const Artifact &getArtifact() const { return artifact; }
  size_t getTensorId(const std::string &name) const;
  const TensorInfo &getTensor(size_t id) const {
    return getManifest().tensors[id];
  }
  /// Null when a tensor has no memory yet.
  char *getData(size_t id) const { return memory[id]; }
  /// The value of a rank-0 tensor; nothing when there is no such tensor or it
  /// has no memory yet.
  std::optional<double> getScalar(std::string_view name) const;

  void bind(const std::string &name, void *target, size_t bytes);
  void setThreads(unsigned threads);
  unsigned getThreads() const { return pool->size(); }

  const std::map<size_t, Hyper> &getHypers() const { return hypers; }
  /// Fixes a value, or (`follow`) changes what the schedule multiplies.
  void setHyper(const std::string &name, double value, bool follow = false);
  double getHyper(const std::string &name) const;
  void followSchedule();
  /// Restores what a checkpoint holds.
  void restoreHyper(size_t id, const Hyper &hyper);

  void run(const std::string &entry, const std::vector<Binding> &inputs,
           const std::vector<Binding> &outputs);
  amp_stats getStats() const;
  void reset();

private:
  struct Entry {
    const EntryInfo *info;
    amp_entry function;
    /// One per tensor of the entry, filled for each run.
    std::vector<void *> tensors;
    std::vector<std::string> fed;
  };

  Entry &getEntry(const std::string &name);
  void allocateState();
  void allocateWorkspace();
  /// `isFresh`: memory is still zero.
  void fillState(bool isFresh);
  void applySchedule();
  void checkBinding(size_t id, const Binding &binding) const;
  size_t findSlot(const Entry &entry, const Binding &binding, size_t position,
                  bool fed) const;
  void placeInputs(Entry &entry, const std::vector<Binding> &inputs);
  /// The results that are to be copied to the caller after the run.
  std::vector<std::pair<size_t, void *>>
  placeOutputs(Entry &entry, const std::vector<Binding> &outputs);
  char *getOwn(size_t id);
  void storeHyper(size_t id);

  Artifact artifact;
  amp_options options;
  Schedule schedule;
  Code code;
  std::vector<Entry> entries;
  std::vector<Block> blocks;
  /// Where each tensor is: a block, or the caller's memory.
  std::vector<char *> memory;
  Block workspace;
  std::unique_ptr<ThreadPool> pool;
  std::map<size_t, Hyper> hypers;
  std::map<size_t, double> initialHypers;
};

} // namespace amp::runtime

#endif // AMP_RUNTIME_SESSION_H
