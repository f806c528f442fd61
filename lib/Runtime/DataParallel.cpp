//===- DataParallel.cpp - One step on several ranks -----------------------===//
// Local gradients, one reduction, the same update everywhere.
//===----------------------------------------------------------------------===//

#include "amp/Runtime/DataParallel.h"
#include "amp/Runtime/Failure.h"
#include <cstring>

using namespace amp::runtime;

DataParallel::DataParallel(Session &session, Collectives &ranks,
                           const std::vector<SharedFact> &facts)
    : session(session), ranks(ranks) {
  checkFingerprints();
  findReduced();
  checkFacts(facts);
  for (size_t id = 0; id < session.getManifest().tensors.size(); ++id)
    if (isState(session.getTensor(id).role))
      session.update(id, [&](char *value) {
        ranks.broadcast(value, session.getTensor(id).bytes);
      });
}

/// Fails everywhere if a rank complains: with its complaint there.
void DataParallel::agree(const std::string &complaint, const char *others) {
  if (!any(!complaint.empty()))
    return;
  fail(AMP_MISMATCH, complaint.empty() ? others : complaint);
}

void DataParallel::checkFingerprints() {
  const std::string &mine = session.getManifest().fingerprint;
  std::string first = mine;
  ranks.broadcast(first.data(), first.size());
  agree(first == mine
            ? ""
            : "rank " + std::to_string(ranks.getRank()) +
                  " has an artifact of fingerprint " + mine + ", rank 0 one " +
                  "of " + first + ": all ranks train the same artifact",
        "another rank has an artifact of another fingerprint");
}

void DataParallel::checkFacts(const std::vector<SharedFact> &facts) {
  std::string complaint;
  for (const SharedFact &fact : facts) {
    int64_t first = fact.value;
    ranks.broadcast(&first, sizeof(first));
    if (first != fact.value && complaint.empty())
      complaint = fact.name + " of rank " + std::to_string(ranks.getRank()) +
                  ": " + std::to_string(fact.value) +
                  ", of rank 0: " + std::to_string(first) +
                  "; give all ranks the same data, " + "options and checkpoint";
  }
  agree(complaint, "another rank has other data, options or checkpoint");
}

void DataParallel::findReduced() {
  const EntryInfo *gradients =
      session.getManifest().findEntry(names::trainGradients);
  if (!gradients || !session.getManifest().findEntry(names::trainApply))
    fail(AMP_UNSUPPORTED,
         "the artifact has no entries 'train_gradients' and 'train_apply', "
         "which several ranks run: compile it with amp-compile "
         "--data-parallel");
  for (size_t id : gradients->tensors) {
    const TensorInfo &tensor = session.getTensor(id);
    if (tensor.name == names::iteration)
      iteration = id;
    if (tensor.role != Role::Loss && tensor.role != Role::Gradient)
      continue;
    if (tensor.dtype != DType::F32 && tensor.dtype != DType::F64)
      fail(AMP_UNSUPPORTED, quote(tensor.name) + " is " + tensor.describe() +
                                ": ranks reduce f32 and f64");
    averaged.push_back(id);
  }
  foundInf = session.getTensorId(names::ranksFoundInf);
}

template <typename T> static void divide(char *data, size_t bytes, T by) {
  T *elements = reinterpret_cast<T *>(data);
  for (size_t i = 0; i < bytes / sizeof(T); ++i)
    elements[i] /= by;
}

void DataParallel::average(size_t id) {
  const TensorInfo &tensor = session.getTensor(id);
  session.update(id, [&](char *data) {
    ranks.allReduce(data, tensor.dtype, tensor.bytes / getSize(tensor.dtype),
                    Reduction::Sum);
    if (tensor.dtype == DType::F32)
      divide(data, tensor.bytes, static_cast<float>(ranks.getSize()));
    else
      divide(data, tensor.bytes, static_cast<double>(ranks.getSize()));
  });
}

/// Random numbers of this entry are a function of the iteration: every rank
/// counts from elsewhere while it runs, so that dropout differs.
void DataParallel::runGradients(const std::vector<Binding> &inputs) {
  constexpr int64_t stride = 0x9e3779b9;
  int64_t count = 0;
  if (iteration)
    session.update(*iteration, [&](char *value) {
      std::memcpy(&count, value, sizeof(count));
      int64_t own = count + stride * static_cast<int64_t>(ranks.getRank());
      std::memcpy(value, &own, sizeof(own));
    });
  session.run(names::trainGradients, inputs, {});
  if (iteration)
    session.update(*iteration, [&](char *value) {
      std::memcpy(value, &count, sizeof(count));
    });
}

void DataParallel::step(const std::vector<Binding> &inputs) {
  runGradients(inputs);
  for (size_t id : averaged)
    average(id);
  session.update(foundInf, [&](char *value) {
    ranks.allReduce(value, DType::F32, 1, Reduction::Max);
  });
  session.run(names::trainApply, {}, {});
}

bool DataParallel::any(bool here) {
  float flag = here;
  ranks.allReduce(&flag, DType::F32, 1, Reduction::Max);
  return flag != 0;
}

/// FNV-1a over all state that ranks have in common.
static uint64_t getChecksum(const Session &session) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t id = 0; id < session.getManifest().tensors.size(); ++id) {
    const TensorInfo &tensor = session.getTensor(id);
    if (!isState(tensor.role) || tensor.role == Role::Buffer)
      continue;
    const char *data = session.read(id);
    for (size_t i = 0; i < tensor.bytes; ++i)
      hash = (hash ^ static_cast<unsigned char>(data[i])) * 0x100000001b3u;
  }
  return hash;
}

void DataParallel::checkReplicas() {
  uint64_t mine = getChecksum(session), first = mine;
  ranks.broadcast(&first, sizeof(first));
  agree(first == mine ? ""
                      : "the state of rank " + std::to_string(ranks.getRank()) +
                            " is no longer that of rank 0",
        "the state of another rank is no longer that of rank 0");
}
