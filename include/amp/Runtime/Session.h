//===- Session.h - A step that is loaded and has state ----------*- C++ -*-===//
// What a handle of the C interface is: tensors, entries, schedule.
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_SESSION_H
#define AMP_RUNTIME_SESSION_H

#include "amp/Runtime/Engine.h"
#include "amp/Runtime/Schedule.h"

namespace amp::runtime {

/// Names that both sides of the artifact know.
namespace names {
constexpr const char *trainStep = "train_step", *evalStep = "eval_step",
                     *infer = "infer", *trainGradients = "train_gradients",
                     *trainApply = "train_apply",
                     *locateNonfinite = "locate_nonfinite";
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
  /// The value of a tensor in host memory, until the next call that changes it;
  /// null when it has none yet.
  const char *read(size_t id) const { return engine->read(id); }
  /// Lets `change` write the value of a tensor that has one.
  void update(size_t id, const Engine::Change &change) {
    engine->update(id, change);
  }
  /// Where the tensor lies: host memory, or memory of a device.
  void *getAddress(size_t id) const { return engine->getAddress(id); }
  bool isOnHost() const { return engine->isOnHost(); }
  std::string describeTarget() const { return engine->describe(); }
  /// The value of a rank-0 tensor; nothing when there is no such tensor or it
  /// has no memory yet.
  std::optional<double> getScalar(std::string_view name) const;

  void bind(const std::string &name, void *target, size_t bytes);
  void setThreads(unsigned threads) { engine->setThreads(threads); }
  unsigned getThreads() const { return engine->getThreads(); }

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
  const EntryInfo &getEntry(const std::string &name) const;
  /// `isFresh`: memory is still zero.
  void fillState(bool isFresh);
  void applySchedule();
  void checkBinding(size_t id, const Binding &binding) const;
  size_t findSlot(const EntryInfo &entry, const Binding &binding,
                  size_t position, bool fed) const;
  void placeInputs(const EntryInfo &entry, const std::vector<Binding> &inputs,
                   std::vector<void *> &memory) const;
  void placeOutputs(const EntryInfo &entry, const std::vector<Binding> &outputs,
                    std::vector<void *> &memory) const;
  void storeHyper(size_t id);

  Artifact artifact;
  amp_options options;
  Schedule schedule;
  std::unique_ptr<Engine> engine;
  std::map<size_t, Hyper> hypers;
  std::map<size_t, double> initialHypers;
};

} // namespace amp::runtime

#endif // AMP_RUNTIME_SESSION_H
