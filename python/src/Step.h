//===- Step.h - An opened artifact as Python holds it -----------*- C++ -*-===//
//
// Over the C interface; no MLIR here.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PYTHON_SRC_STEP_H
#define AMP_PYTHON_SRC_STEP_H

#include "amp-c/amp.h"
#include <map>
#include <memory>
#include <mutex>
#include <nanobind/nanobind.h>
#include <stdexcept>
#include <string>
#include <sys/types.h>
#include <vector>

namespace amp::python {

/// What Python sees as `amp_mlir.StepError`.
class StepError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Memory aligned to 64 bytes.
using Memory = std::shared_ptr<void>;
Memory allocate(size_t bytes);

/// A tensor of an artifact.
struct TensorSpec {
  std::string name, role;
  int32_t dtype;
  std::vector<int64_t> shape;
  size_t bytes;
};

/// "f32", ...
const char *getDtypeName(int32_t dtype);

/// What an entry is given, and those of its results that are returned.
struct EntrySpec {
  std::string name;
  std::vector<TensorSpec> inputs, outputs;
};

/// `data` as a numpy array (bf16 as uint16), or as an object that only speaks
/// DLPack. `owner` is kept as long as it lives.
nanobind::object makeArray(const TensorSpec &tensor, void *data,
                           std::shared_ptr<void> owner, bool numpy);

/// The numbers and outputs of one call.
struct StepResult {
  amp_stats stats;
  bool skipped;
  const EntrySpec *entry;
  std::vector<Memory> outputs;
  /// Keeps `entry`.
  std::shared_ptr<void> owner;

  nanobind::object getOutput(const std::string &name, bool numpy) const;
};

/// An opened artifact. Calls may come from any thread and run one after the
/// other; those that take long leave the GIL to others.
class Step : public std::enable_shared_from_this<Step> {
public:
  Step(const std::string &path, int threads);
  ~Step();

  StepResult run(const std::string &entry, nanobind::tuple arguments,
                 nanobind::dict named);
  const EntrySpec &getEntry(const std::string &name) const;
  const std::map<std::string, EntrySpec> &getEntries() const { return entries; }
  std::string getInfo() const;
  amp_stats getStats() const;
  std::vector<TensorSpec> getTensors() const;
  nanobind::object getView(const std::string &name, bool numpy);
  /// Copies, of what lies on a device, too.
  nanobind::object read(const std::string &name, bool numpy) const;
  void write(const std::string &name, nanobind::handle array);
  void setHyper(const std::string &name, double value);
  double getHyper(const std::string &name) const;
  void followSchedule();
  void setThreads(int threads);
  void save(const std::string &path, unsigned flags);
  void load(const std::string &path, unsigned flags);
  void reset();
  /// How often inputs had to be copied because they were not contiguous.
  const std::map<std::string, int64_t> &getCopies() const { return copies; }

private:
  void check(amp_status status) const;
  void checkProcess() const;
  void readEntries();
  void countCopy(const std::string &name);

  amp_step *handle = nullptr;
  pid_t process;
  std::map<std::string, EntrySpec> entries;
  std::map<std::string, int64_t> copies;
  std::mutex mutex;
  int64_t skipped = 0;
};

} // namespace amp::python

#endif // AMP_PYTHON_SRC_STEP_H
