//===- SessionRun.cpp - Running the entries of a step ---------------------===//
// Matches the caller's memory with the entry's tensors and runs it.
//===----------------------------------------------------------------------===//

#include "amp/Runtime/Failure.h"
#include "amp/Runtime/Session.h"

using namespace amp::runtime;

const EntryInfo &Session::getEntry(const std::string &name) const {
  if (const EntryInfo *entry = getManifest().findEntry(name))
    return *entry;
  NameList have;
  for (const EntryInfo &entry : getManifest().entries)
    have.add(entry.name);
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
size_t Session::findSlot(const EntryInfo &entry, const Binding &binding,
                         size_t position, bool fed) const {
  const std::vector<size_t> &ids = entry.tensors;
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
    fail(AMP_INVALID_ARGUMENT, "entry " + quote(entry.name) + " has " +
                                   std::to_string(seen) + " " + what +
                                   "s, but more were given");
  NameList have;
  for (size_t id : ids)
    if (fed ? isFed(getTensor(id).role)
            : !isFed(getTensor(id).role) && !isState(getTensor(id).role))
      have.add(getTensor(id).name);
  fail(AMP_NOT_FOUND, "entry " + quote(entry.name) + " has no " + what + " " +
                          quote(*binding.name) + "; it has " +
                          (have.empty() ? "none" : have.str()));
}

void Session::placeInputs(const EntryInfo &entry,
                          const std::vector<Binding> &inputs,
                          std::vector<void *> &memory) const {
  const std::vector<size_t> &ids = entry.tensors;
  std::vector<bool> given(ids.size(), false);
  for (size_t i = 0; i < inputs.size(); ++i) {
    size_t slot = findSlot(entry, inputs[i], i, /*fed=*/true), id = ids[slot];
    checkBinding(id, inputs[i]);
    if (given[slot])
      fail(AMP_INVALID_ARGUMENT,
           "input " + quote(getTensor(id).name) + " was given twice");
    checkIndices(getTensor(id), static_cast<const char *>(inputs[i].data));
    given[slot] = true;
    memory[slot] = inputs[i].data;
  }
  NameList missing;
  for (size_t slot = 0; slot < ids.size(); ++slot)
    if (isFed(getTensor(ids[slot]).role) && !given[slot])
      missing.add(getTensor(ids[slot]).name);
  if (!missing.empty())
    fail(AMP_INVALID_ARGUMENT, "entry " + quote(entry.name) +
                                   " was not given the inputs " +
                                   missing.str());
}

void Session::placeOutputs(const EntryInfo &entry,
                           const std::vector<Binding> &outputs,
                           std::vector<void *> &memory) const {
  std::vector<bool> given(entry.tensors.size(), false);
  for (size_t i = 0; i < outputs.size(); ++i) {
    size_t slot = findSlot(entry, outputs[i], i, /*fed=*/false);
    checkBinding(entry.tensors[slot], outputs[i]);
    if (given[slot])
      fail(AMP_INVALID_ARGUMENT,
           "output " + quote(getTensor(entry.tensors[slot]).name) +
               " was given twice");
    given[slot] = true;
    memory[slot] = outputs[i].data;
  }
}

void Session::run(const std::string &name, const std::vector<Binding> &inputs,
                  const std::vector<Binding> &outputs) {
  const EntryInfo &entry = getEntry(name);
  std::vector<void *> memory(entry.tensors.size(), nullptr);
  placeInputs(entry, inputs, memory);
  placeOutputs(entry, outputs, memory);
  applySchedule();
  size_t number = static_cast<size_t>(&entry - getManifest().entries.data());
  engine->run(number, memory);
}
