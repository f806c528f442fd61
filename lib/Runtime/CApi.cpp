//===- CApi.cpp - The C interface -----------------------------------------===//
// Locks the handle, calls the session, turns exceptions into status and text.
//===----------------------------------------------------------------------===//

#include "amp/Runtime/Checkpoint.h"
#include "amp/Runtime/Failure.h"
#include "amp/Runtime/Info.h"
#include <cstddef>
#include <cstring>
#include <mutex>
#include <new>

using namespace amp::runtime;

struct amp_step {
  std::mutex mutex;
  std::unique_ptr<Session> session;
  std::string error, info;
};

/// Runs `action` under the handle's lock; nothing is thrown past this.
template <typename Action>
static amp_status guard(amp_step *step, Action action) {
  if (!step)
    return AMP_INVALID_ARGUMENT;
  std::lock_guard<std::mutex> lock(step->mutex);
  try {
    try {
      action();
      return AMP_OK;
    } catch (const Failure &failure) {
      step->error = failure.what();
      return failure.status;
    } catch (const std::bad_alloc &) {
      step->error = "there is not enough memory";
      return AMP_OUT_OF_MEMORY;
    } catch (const std::exception &error) {
      step->error = std::string("internal error: ") + error.what();
      return AMP_FAILED;
    }
  } catch (...) {
    return AMP_OUT_OF_MEMORY; // for the text
  }
}

/// The same for what needs an opened artifact.
template <typename Action>
static amp_status withSession(amp_step *step, Action action) {
  return guard(step, [&] {
    if (!step->session)
      fail(AMP_INVALID_ARGUMENT, "the artifact could not be opened");
    action(*step->session);
  });
}

static std::string getText(const char *text, const char *what) {
  if (!text)
    fail(AMP_INVALID_ARGUMENT, std::string("no ") + what + " was given");
  return text;
}

int32_t amp_abi_version(void) { return AMP_ABI_VERSION; }
const char *amp_version(void) { return AMP_VERSION; }

const char *amp_status_name(amp_status status) {
  static constexpr const char *texts[] = {
      "ok",           "invalid argument", "not found",   "mismatch", "bad file",
      "input/output", "out of memory",    "unsupported", "failed"};
  size_t index = static_cast<size_t>(status);
  return index < std::size(texts) ? texts[index] : "unknown status";
}

static amp_options getOptions(const amp_options *given) {
  amp_options options = {};
  options.size = sizeof(options);
  if (!given)
    return options;
  constexpr size_t firstVersion = offsetof(amp_options, cuda_driver);
  if (given->size != sizeof(options) && given->size != firstVersion)
    fail(AMP_INVALID_ARGUMENT, "amp_options.size is " +
                                   std::to_string(given->size) +
                                   ", expected sizeof(amp_options)");
  if (given->threads < 0)
    fail(AMP_INVALID_ARGUMENT, "the number of threads is negative");
  if (!given->allocate != !given->release)
    fail(AMP_INVALID_ARGUMENT,
         "allocate and release are to be given both or neither");
  std::memcpy(&options, given, given->size);
  options.size = sizeof(options);
  return options;
}

amp_status amp_open(const char *path, const amp_options *options,
                    amp_step **step) {
  if (!step)
    return AMP_INVALID_ARGUMENT;
  *step = new (std::nothrow) amp_step;
  if (!*step)
    return AMP_OUT_OF_MEMORY;
  return guard(*step, [&] {
    auto session =
        std::make_unique<Session>(getText(path, "path"), getOptions(options));
    (*step)->info = print(getInfo(*session));
    (*step)->session = std::move(session);
  });
}

void amp_close(amp_step *step) { delete step; }

size_t amp_error_text(amp_step *step, char *text, size_t size) {
  if (!step)
    return 0;
  std::lock_guard<std::mutex> lock(step->mutex);
  if (text && size > 0) {
    size_t count = std::min(size - 1, step->error.size());
    std::memcpy(text, step->error.data(), count);
    text[count] = 0;
  }
  return step->error.size();
}

amp_status amp_info(amp_step *step, const char **json) {
  return withSession(step, [&](Session &) {
    if (!json)
      fail(AMP_INVALID_ARGUMENT, "no place for the text was given");
    *json = step->info.c_str();
  });
}

size_t amp_tensor_count(amp_step *step) {
  size_t count = 0;
  withSession(step, [&](Session &session) {
    count = session.getManifest().tensors.size();
  });
  return count;
}

static void fillView(const Session &session, size_t id, amp_view *view) {
  if (!view)
    fail(AMP_INVALID_ARGUMENT, "no place for the view was given");
  const TensorInfo &tensor = session.getTensor(id);
  *view = {tensor.name.c_str(),
           getName(tensor.role),
           session.isOnHost() ? session.getAddress(id) : nullptr,
           tensor.bytes,
           static_cast<int32_t>(tensor.dtype),
           static_cast<int32_t>(tensor.shape.size()),
           tensor.shape.data(),
           tensor.strides.data()};
}

amp_status amp_tensor_at(amp_step *step, size_t index, amp_view *view) {
  return withSession(step, [&](Session &session) {
    if (index >= session.getManifest().tensors.size())
      fail(AMP_NOT_FOUND, "there is no tensor " + std::to_string(index));
    fillView(session, index, view);
  });
}

amp_status amp_tensor(amp_step *step, const char *name, amp_view *view) {
  return withSession(step, [&](Session &session) {
    fillView(session, session.getTensorId(getText(name, "name")), view);
  });
}

/// The tensor, whose size is `bytes`.
static size_t getSized(const Session &session, const char *name, size_t bytes) {
  size_t id = session.getTensorId(getText(name, "name"));
  const TensorInfo &tensor = session.getTensor(id);
  if (bytes != tensor.bytes)
    fail(AMP_MISMATCH, quote(tensor.name) + " is " + tensor.describe() + " (" +
                           std::to_string(tensor.bytes) + " bytes), but " +
                           std::to_string(bytes) + " bytes were given");
  return id;
}

amp_status amp_read_tensor(amp_step *step, const char *name, void *target,
                           size_t bytes) {
  return withSession(step, [&](Session &session) {
    size_t id = getSized(session, name, bytes);
    const char *value = session.read(id);
    if (!value)
      fail(AMP_NOT_FOUND, quote(session.getTensor(id).name) +
                              " has no value yet: no step has written it");
    if (!target && bytes)
      fail(AMP_INVALID_ARGUMENT, "no place for the value was given");
    if (bytes)
      std::memcpy(target, value, bytes);
  });
}

amp_status amp_write_tensor(amp_step *step, const char *name,
                            const void *source, size_t bytes) {
  return withSession(step, [&](Session &session) {
    size_t id = getSized(session, name, bytes);
    const TensorInfo &tensor = session.getTensor(id);
    if (!isState(tensor.role))
      fail(AMP_INVALID_ARGUMENT, quote(tensor.name) + " is no state (role " +
                                     getName(tensor.role) +
                                     "): pass its memory to the run");
    if (!source && bytes)
      fail(AMP_INVALID_ARGUMENT, "no value was given");
    if (bytes)
      session.update(id,
                     [&](char *value) { std::memcpy(value, source, bytes); });
  });
}

amp_status amp_device_address(amp_step *step, const char *name,
                              void **address) {
  return withSession(step, [&](Session &session) {
    size_t id = session.getTensorId(getText(name, "name"));
    if (!address)
      fail(AMP_INVALID_ARGUMENT, "no place for the address was given");
    if (session.isOnHost())
      fail(AMP_UNSUPPORTED, "the artifact runs on the CPU: amp_tensor says "
                            "where its tensors are");
    *address = session.getAddress(id);
  });
}

amp_status amp_bind(amp_step *step, const char *name, void *memory,
                    size_t bytes) {
  return withSession(step, [&](Session &session) {
    session.bind(getText(name, "name"), memory, bytes);
  });
}

amp_status amp_set_hyper(amp_step *step, const char *name, double value) {
  return withSession(step, [&](Session &session) {
    session.setHyper(getText(name, "name"), value);
  });
}

amp_status amp_get_hyper(amp_step *step, const char *name, double *value) {
  return withSession(step, [&](Session &session) {
    double found = session.getHyper(getText(name, "name"));
    if (!value)
      fail(AMP_INVALID_ARGUMENT, "no place for the value was given");
    *value = found;
  });
}

amp_status amp_follow_schedule(amp_step *step) {
  return withSession(step, [](Session &session) { session.followSchedule(); });
}

amp_status amp_set_threads(amp_step *step, int32_t threads) {
  return withSession(step, [&](Session &session) {
    if (threads < 0)
      fail(AMP_INVALID_ARGUMENT, "the number of threads is negative");
    session.setThreads(static_cast<unsigned>(threads));
  });
}

static std::vector<Binding> getBindings(const amp_buffer *buffers,
                                        size_t count) {
  constexpr int32_t maxRank = 64;
  if (count > 0 && !buffers)
    fail(AMP_INVALID_ARGUMENT, "no buffers were given");
  std::vector<Binding> bindings(count);
  for (size_t i = 0; i < count; ++i) {
    const amp_buffer &buffer = buffers[i];
    std::string where = "buffer " + std::to_string(i);
    if (buffer.dtype < AMP_F32 || buffer.dtype > AMP_I1)
      fail(AMP_INVALID_ARGUMENT, where + " has no valid dtype");
    if (buffer.rank < 0 || buffer.rank > maxRank ||
        (buffer.rank > 0 && !buffer.shape))
      fail(AMP_INVALID_ARGUMENT, where + " has no valid shape");
    if (buffer.name)
      bindings[i].name = buffer.name;
    if (!buffer.name != !buffers[0].name)
      fail(AMP_INVALID_ARGUMENT, "some buffers have names and some have not");
    bindings[i].data = buffer.data;
    bindings[i].dtype = static_cast<DType>(buffer.dtype);
    bindings[i].shape.assign(buffer.shape, buffer.shape + buffer.rank);
  }
  return bindings;
}

amp_status amp_run(amp_step *step, const char *entry, const amp_buffer *inputs,
                   size_t num_inputs, const amp_buffer *outputs,
                   size_t num_outputs) {
  return withSession(step, [&](Session &session) {
    session.run(getText(entry, "entry"), getBindings(inputs, num_inputs),
                getBindings(outputs, num_outputs));
  });
}

amp_status amp_train_step(amp_step *step, const amp_buffer *inputs,
                          size_t num_inputs, const amp_buffer *outputs,
                          size_t num_outputs) {
  return amp_run(step, names::trainStep, inputs, num_inputs, outputs,
                 num_outputs);
}

amp_status amp_eval_step(amp_step *step, const amp_buffer *inputs,
                         size_t num_inputs, const amp_buffer *outputs,
                         size_t num_outputs) {
  return amp_run(step, names::evalStep, inputs, num_inputs, outputs,
                 num_outputs);
}

amp_status amp_infer(amp_step *step, const amp_buffer *inputs,
                     size_t num_inputs, const amp_buffer *outputs,
                     size_t num_outputs) {
  return amp_run(step, names::infer, inputs, num_inputs, outputs, num_outputs);
}

amp_status amp_get_stats(amp_step *step, amp_stats *stats) {
  return withSession(step, [&](Session &session) {
    if (!stats)
      fail(AMP_INVALID_ARGUMENT, "no place for the numbers was given");
    *stats = session.getStats();
  });
}

amp_status amp_reset(amp_step *step) {
  return withSession(step, [](Session &session) { session.reset(); });
}

amp_status amp_save(amp_step *step, const char *path, uint32_t flags) {
  return withSession(step, [&](Session &session) {
    saveCheckpoint(session, getText(path, "path"), flags);
  });
}

amp_status amp_load(amp_step *step, const char *path, uint32_t flags) {
  return withSession(step, [&](Session &session) {
    loadCheckpoint(session, getText(path, "path"), flags);
  });
}
