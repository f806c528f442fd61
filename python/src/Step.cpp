//===- Step.cpp - An opened artifact as Python holds it -------------------===//
//
// The GIL is let go of while the artifact is opened, run, saved and loaded.
//
//===----------------------------------------------------------------------===//

#include "Step.h"
#include "Inputs.h"
#include <cstdlib>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <new>
#include <unistd.h>

using namespace amp::python;
namespace nb = nanobind;

Memory amp::python::allocate(size_t bytes) {
  constexpr size_t alignment = 64;
  void *memory = std::aligned_alloc(alignment, (bytes + alignment) / alignment *
                                                   alignment);
  if (!memory)
    throw std::bad_alloc();
  return Memory(memory, std::free);
}

const char *amp::python::getDtypeName(int32_t dtype) {
  static constexpr const char *names[] = {"?",   "f32", "f16", "bf16", "f64",
                                          "i64", "i32", "i8",  "u8",   "i1"};
  return dtype >= 1 && dtype <= AMP_I1 ? names[dtype] : names[0];
}

//===----------------------------------------------------------------------===//
// Arrays
//===----------------------------------------------------------------------===//

static nb::dlpack::dtype getDtype(int32_t dtype, bool numpy) {
  using Code = nb::dlpack::dtype_code;
  auto make = [](Code code, int bits) {
    return nb::dlpack::dtype{uint8_t(code), uint8_t(bits), 1};
  };
  switch (dtype) {
  case AMP_F32:
    return make(Code::Float, 32);
  case AMP_F16:
    return make(Code::Float, 16);
  case AMP_BF16:
    return make(numpy ? Code::UInt : Code::Bfloat, 16);
  case AMP_F64:
    return make(Code::Float, 64);
  case AMP_I64:
    return make(Code::Int, 64);
  case AMP_I32:
    return make(Code::Int, 32);
  case AMP_I8:
    return make(Code::Int, 8);
  case AMP_U8:
    return make(Code::UInt, 8);
  default:
    return make(Code::Bool, 8);
  }
}

nb::object amp::python::makeArray(const TensorSpec &tensor, void *data,
                                  std::shared_ptr<void> owner, bool numpy) {
  nb::capsule keep(new std::shared_ptr<void>(std::move(owner)),
                   [](void *kept) noexcept {
                     delete static_cast<std::shared_ptr<void> *>(kept);
                   });
  std::vector<size_t> shape(tensor.shape.begin(), tensor.shape.end());
  nb::dlpack::dtype dtype = getDtype(tensor.dtype, numpy);
  if (numpy)
    return nb::cast(nb::ndarray<nb::numpy>(data, shape.size(), shape.data(),
                                           keep, nullptr, dtype));
  return nb::cast(
      nb::ndarray<>(data, shape.size(), shape.data(), keep, nullptr, dtype));
}

nb::object StepResult::getOutput(const std::string &name, bool numpy) const {
  std::string names;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (entry->outputs[i].name == name)
      return makeArray(entry->outputs[i], outputs[i].get(), outputs[i], numpy);
    names += (names.empty() ? "" : ", ") + entry->outputs[i].name;
  }
  throw StepError(entry->name + " has no output '" + name + "'; there are " +
                  (names.empty() ? "none" : names));
}

//===----------------------------------------------------------------------===//
// Opening and closing
//===----------------------------------------------------------------------===//

Step::Step(const std::string &path, int threads) : process(getpid()) {
  amp_options options = {};
  options.size = sizeof(options);
  options.threads = threads;
  amp_status status;
  {
    nb::gil_scoped_release unlocked;
    status = amp_open(path.c_str(), &options, &handle);
  }
  try {
    check(status);
    readEntries();
  } catch (const StepError &) {
    amp_close(handle);
    throw;
  }
  skipped = getStats().skipped;
}

/// In a forked child the threads of the pool are gone and can't be waited for.
Step::~Step() {
  if (process != getpid())
    return;
  nb::gil_scoped_release unlocked;
  amp_close(handle);
}

void Step::check(amp_status status) const {
  if (status == AMP_OK)
    return;
  if (!handle)
    throw std::bad_alloc();
  std::string text(amp_error_text(handle, nullptr, 0), '\0');
  amp_error_text(handle, text.data(), text.size() + 1);
  throw StepError(text);
}

void Step::checkProcess() const {
  if (process != getpid())
    throw StepError("this step was opened in process " +
                    std::to_string(process) + ", and this is its fork " +
                    std::to_string(getpid()) +
                    "; threads do not survive a fork: open or compile the "
                    "step again in the new process");
}

static TensorSpec toSpec(const amp_view &view) {
  return {view.name, view.role, view.dtype,
          std::vector<int64_t>(view.shape, view.shape + view.rank), view.bytes};
}

std::vector<TensorSpec> Step::getTensors() const {
  std::vector<TensorSpec> tensors;
  for (size_t i = 0, count = amp_tensor_count(handle); i < count; ++i) {
    amp_view view;
    check(amp_tensor_at(handle, i, &view));
    tensors.push_back(toSpec(view));
  }
  return tensors;
}

/// Which tensors entries take and make is in the artifact's description.
void Step::readEntries() {
  nb::object info = nb::module_::import_("json").attr("loads")(getInfo());
  std::map<std::string, TensorSpec> tensors;
  for (TensorSpec &tensor : getTensors())
    tensors.emplace(tensor.name, tensor);
  for (nb::handle entry : info["entries"]) {
    EntrySpec spec;
    spec.name = nb::str(entry["name"]).c_str();
    for (nb::handle name : entry["inputs"])
      spec.inputs.push_back(tensors.at(nb::str(name).c_str()));
    for (nb::handle name : entry["outputs"])
      if (const TensorSpec &tensor = tensors.at(nb::str(name).c_str());
          tensor.role == "output")
        spec.outputs.push_back(tensor);
    entries.emplace(spec.name, std::move(spec));
  }
}

const EntrySpec &Step::getEntry(const std::string &name) const {
  auto found = entries.find(name);
  if (found != entries.end())
    return found->second;
  std::string names;
  for (const auto &item : entries)
    names += (names.empty() ? "" : ", ") + item.first;
  throw StepError("the artifact has no entry '" + name + "'; it has " + names);
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

void Step::countCopy(const std::string &name) {
  if (copies[name]++ > 0)
    return;
  std::string text = "input '" + name +
                     "' is not contiguous: it is copied in every call "
                     "(`copies` counts them; .contiguous() or "
                     "numpy.ascontiguousarray avoid it)";
  if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 2) != 0)
    throw nb::python_error();
}

StepResult Step::run(const std::string &entry, nb::tuple arguments,
                     nb::dict named) {
  checkProcess();
  const EntrySpec &spec = getEntry(entry);
  Inputs inputs(spec, arguments, named);
  for (const std::string &name : inputs.getCopied())
    countCopy(name);
  StepResult result{{}, false, &spec, {}, shared_from_this()};
  std::vector<amp_buffer> outputs;
  for (const TensorSpec &tensor : spec.outputs) {
    result.outputs.push_back(allocate(tensor.bytes));
    outputs.push_back({tensor.name.c_str(), result.outputs.back().get(),
                       tensor.dtype, int32_t(tensor.shape.size()),
                       tensor.shape.data()});
  }
  amp_status status;
  {
    nb::gil_scoped_release unlocked;
    // The numbers are those of this call, not of another thread's.
    std::lock_guard<std::mutex> lock(mutex);
    const std::vector<amp_buffer> &buffers = inputs.getBuffers();
    status = amp_run(handle, entry.c_str(), buffers.data(), buffers.size(),
                     outputs.data(), outputs.size());
    if (status == AMP_OK)
      status = amp_get_stats(handle, &result.stats);
    if (status == AMP_OK) {
      result.skipped = result.stats.skipped != skipped;
      skipped = result.stats.skipped;
    }
  }
  check(status);
  return result;
}

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

std::string Step::getInfo() const {
  const char *json = nullptr;
  check(amp_info(handle, &json));
  return json;
}

amp_stats Step::getStats() const {
  amp_stats stats;
  check(amp_get_stats(handle, &stats));
  return stats;
}

nb::object Step::getView(const std::string &name, bool numpy) {
  checkProcess();
  amp_view view;
  check(amp_tensor(handle, name.c_str(), &view));
  if (!view.data && view.bytes)
    throw StepError("'" + name + "' (" + view.role +
                    ") has no memory of its own in the host; state of a "
                    "device is read by state_dict()");
  return makeArray(toSpec(view), view.data, shared_from_this(), numpy);
}

nb::object Step::read(const std::string &name, bool numpy) const {
  checkProcess();
  amp_view view;
  check(amp_tensor(handle, name.c_str(), &view));
  TensorSpec tensor = toSpec(view);
  Memory memory = allocate(tensor.bytes);
  check(amp_read_tensor(handle, name.c_str(), memory.get(), tensor.bytes));
  return makeArray(tensor, memory.get(), memory, numpy);
}

/// The caller has converted the array: it has the tensor's size.
void Step::write(const std::string &name, nb::handle array) {
  checkProcess();
  auto values =
      nb::cast<nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>>(array);
  check(amp_write_tensor(handle, name.c_str(), values.data(), values.nbytes()));
}

void Step::setHyper(const std::string &name, double value) {
  checkProcess();
  check(amp_set_hyper(handle, name.c_str(), value));
}

double Step::getHyper(const std::string &name) const {
  double value;
  check(amp_get_hyper(handle, name.c_str(), &value));
  return value;
}

void Step::followSchedule() { check(amp_follow_schedule(handle)); }

void Step::setThreads(int threads) {
  checkProcess();
  check(amp_set_threads(handle, threads));
}

void Step::save(const std::string &path, unsigned flags) {
  checkProcess();
  amp_status status;
  {
    nb::gil_scoped_release unlocked;
    status = amp_save(handle, path.c_str(), flags);
  }
  check(status);
}

void Step::load(const std::string &path, unsigned flags) {
  checkProcess();
  amp_status status;
  {
    nb::gil_scoped_release unlocked;
    status = amp_load(handle, path.c_str(), flags);
  }
  check(status);
  skipped = getStats().skipped;
}

void Step::reset() {
  checkProcess();
  check(amp_reset(handle));
  skipped = getStats().skipped;
}
