//===- SessionRun.cpp - Running the entries of a step ---------------------===//
// Matches the caller's memory with the entry's tensors and calls the code.
//===----------------------------------------------------------------------===//

#include "amp/Runtime/Failure.h"
#include "amp/Runtime/Session.h"
#include <algorithm>
#include <cstring>

using namespace amp::runtime;

Session::Entry &Session::getEntry(const std::string &name) {
  NameList have;
  for (Entry &entry : entries) {
    if (entry.info->name == name)
      return entry;
    have.add(entry.info->name);
  }
  fail(AMP_NOT_FOUND,
       "the artifact has no entry " + quote(name) + "; it has " + have.str());
}

void Session::checkBinding(size_t id, const Binding &binding) const {
  const TensorInfo &tensor = getTensor(id);
  if (binding.dtype != tensor.dtype || binding.shape != tensor.shape)
    fail(AMP_MISMATCH, quote(tensor.name) + " is " + tensor.describe() +
                           ", but " + describe(binding.dtype, binding.shape) +
                           " was given");
  if (!binding.data && tensor.bytes)
    fail(AMP_INVALID_ARGUMENT, "no memory was given for " + quote(tensor.name));
}

/// The place among the entry's tensors that a binding is for: of the inputs and
/// labels (`fed`), or of the results.
size_t Session::findSlot(const Entry &entry, const Binding &binding,
                         size_t position, bool fed) const {
  const std::vector<size_t> &ids = entry.info->tensors;
  size_t seen = 0;
  for (size_t slot = 0; slot < ids.size(); ++slot) {
    const TensorInfo &tensor = getTensor(ids[slot]);
    bool eligible =
        fed ? isFed(tensor.role) : !isFed(tensor.role) && !isState(tensor.role);
    if (!eligible)
      continue;
    if (binding.name ? tensor.name == *binding.name : seen++ == position)
      return slot;
  }
  std::string what = fed ? "input" : "output";
  if (!binding.name)
    fail(AMP_INVALID_ARGUMENT, "entry " + quote(entry.info->name) + " has " +
                                   std::to_string(seen) + " " + what +
                                   "s, but more were given");
  NameList have;
  for (size_t id : ids)
    if (fed ? isFed(getTensor(id).role)
            : !isFed(getTensor(id).role) && !isState(getTensor(id).role))
      have.add(getTensor(id).name);
  fail(AMP_NOT_FOUND, "entry " + quote(entry.info->name) + " has no " + what +
                          " " + quote(*binding.name) + "; it has " +
                          (have.empty() ? "none" : have.str()));
}

/// Whether code can use memory of the caller's for a tensor where it lies: what
/// it loads and stores there is aligned as elements are.
static bool isUsable(const void *data, const TensorInfo &tensor) {
  return data && reinterpret_cast<uintptr_t>(data) % getSize(tensor.dtype) == 0;
}

void Session::placeInputs(Entry &entry, const std::vector<Binding> &inputs) {
  const std::vector<size_t> &ids = entry.info->tensors;
  for (size_t slot = 0; slot < ids.size(); ++slot)
    entry.tensors[slot] = nullptr;
  std::vector<bool> given(ids.size(), false);
  for (size_t i = 0; i < inputs.size(); ++i) {
    size_t slot = findSlot(entry, inputs[i], i, /*fed=*/true), id = ids[slot];
    checkBinding(id, inputs[i]);
    if (given[slot])
      fail(AMP_INVALID_ARGUMENT,
           "input " + quote(getTensor(id).name) + " was given twice");
    given[slot] = true;
    entry.tensors[slot] = inputs[i].data;
    if (isUsable(inputs[i].data, getTensor(id)))
      continue;
    entry.tensors[slot] = getOwn(id);
    if (getTensor(id).bytes)
      std::memcpy(getOwn(id), inputs[i].data, getTensor(id).bytes);
  }
  NameList missing;
  for (size_t slot = 0; slot < ids.size(); ++slot)
    if (isFed(getTensor(ids[slot]).role) && !given[slot])
      missing.add(getTensor(ids[slot]).name);
  if (!missing.empty())
    fail(AMP_INVALID_ARGUMENT, "entry " + quote(entry.info->name) +
                                   " was not given the inputs " +
                                   missing.str());
}

std::vector<std::pair<size_t, void *>>
Session::placeOutputs(Entry &entry, const std::vector<Binding> &outputs) {
  const std::vector<size_t> &ids = entry.info->tensors;
  std::vector<std::pair<size_t, void *>> copies;
  std::vector<bool> given(ids.size(), false);
  for (size_t i = 0; i < outputs.size(); ++i) {
    size_t slot = findSlot(entry, outputs[i], i, /*fed=*/false);
    const TensorInfo &tensor = getTensor(ids[slot]);
    checkBinding(ids[slot], outputs[i]);
    if (given[slot])
      fail(AMP_INVALID_ARGUMENT,
           "output " + quote(tensor.name) + " was given twice");
    given[slot] = true;
    // Scalars stay here too: statistics are read from them.
    if (tensor.isScalar() || !isUsable(outputs[i].data, tensor))
      copies.push_back({ids[slot], outputs[i].data});
    else
      entry.tensors[slot] = outputs[i].data;
  }
  for (size_t slot = 0; slot < ids.size(); ++slot)
    if (!entry.tensors[slot])
      entry.tensors[slot] = getOwn(ids[slot]);
  return copies;
}

void Session::run(const std::string &name, const std::vector<Binding> &inputs,
                  const std::vector<Binding> &outputs) {
  Entry &entry = getEntry(name);
  placeInputs(entry, inputs);
  std::vector<std::pair<size_t, void *>> copies = placeOutputs(entry, outputs);
  applySchedule();
  amp_host host = {AMP_HOST_ABI, pool->size(), &ThreadPool::call, pool.get()};
  int32_t result = entry.function(entry.tensors.data(), workspace.get(), &host);
  if (result != 0)
    fail(AMP_FAILED, "entry " + quote(name) + " failed with code " +
                         std::to_string(result));
  for (auto [id, target] : copies)
    if (getTensor(id).bytes)
      std::memcpy(target, getOwn(id), getTensor(id).bytes);
}
