//===- Evaluate.cpp - amp-run eval and infer ------------------------------===//
// Runs an entry that changes nothing over all rows.
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "amp/Runtime/Failure.h"
#include "amp/Runtime/Npy.h"
#include <cstdio>
#include <cstring>

using namespace amp::run;
using namespace amp::runtime;

static Say makeSay(const Options &options) {
  return [&options](const std::string &text) { say(options, text); };
}

/// Rank-0 results of an entry, by id.
static std::vector<size_t> findNumbers(const Session &session,
                                       const EntryInfo &entry) {
  std::vector<size_t> ids;
  for (size_t id : entry.tensors) {
    const TensorInfo &tensor = session.getTensor(id);
    if (tensor.isScalar() &&
        (tensor.role == Role::Loss || tensor.role == Role::Metric))
      ids.push_back(id);
  }
  return ids;
}

int amp::run::runEval(const Options &options) {
  std::unique_ptr<Session> session = openSession(options, nullptr);
  Dataset data(*session, names::evalStep, options.data, makeSay(options));
  const EntryInfo *entry = session->getManifest().findEntry(names::evalStep);
  std::vector<size_t> ids = findNumbers(*session, *entry);
  std::vector<double> sums(ids.size(), 0);
  int64_t batches = data.countBatches(options.lastBatch);
  if (batches == 0)
    fail(AMP_MISMATCH, "the data has " + std::to_string(data.getRows()) +
                           " rows, a batch takes " +
                           std::to_string(data.getBatchRows()) +
                           "; --last-batch wrap fills it up");
  for (int64_t i = 0; i < batches; ++i) {
    session->run(names::evalStep, data.getBatch(i), {});
    for (size_t k = 0; k < ids.size(); ++k)
      sums[k] += *session->getScalar(session->getTensor(ids[k]).name);
  }
  int64_t rows = batches * data.getBatchRows();
  Json result = {{"rows", rows}, {"batches", batches}};
  for (size_t k = 0; k < ids.size(); ++k)
    result[session->getTensor(ids[k]).name] =
        sums[k] / static_cast<double>(batches);
  if (rows != data.getRows())
    say(options,
        std::to_string(data.getRows()) + " rows in batches of " +
            std::to_string(data.getBatchRows()) + ": " + std::to_string(rows) +
            " were used (--last-batch " +
            (options.lastBatch == LastBatch::Drop ? "drop)" : "wrap)"));
  std::printf("%s\n", print(result).c_str());
  return 0;
}

namespace {
/// An output, gathered over batches: rows where its first dimension is the
/// batch's, else one element per batch.
struct Gathered {
  const TensorInfo *tensor;
  size_t id;
  bool inRows;
  std::string bytes;
};
} // namespace

static std::vector<Array> toArrays(const std::vector<Gathered> &outputs,
                                   int64_t rows, int64_t batches) {
  std::vector<Array> arrays;
  for (const Gathered &output : outputs) {
    Shape shape = output.tensor->shape;
    if (output.inRows)
      shape[0] = rows;
    else
      shape.insert(shape.begin(), batches);
    size_t bytes = *getByteSize(output.tensor->dtype, shape);
    arrays.push_back({output.tensor->name, output.tensor->dtype, shape,
                      output.bytes.data(), bytes, nullptr});
  }
  return arrays;
}

static void writeArrays(const std::string &path,
                        const std::vector<Array> &arrays) {
  AtomicWriter out(path);
  if (endsWith(path, ".npz"))
    writeNpz(out, arrays);
  else if (endsWith(path, ".safetensors"))
    writeSafetensors(out, {arrays, {}});
  else
    fail(AMP_INVALID_ARGUMENT, "-o " + quote(path) +
                                   ": the name is to end in .npz or "
                                   ".safetensors");
  out.commit();
}

int amp::run::runInfer(const Options &options) {
  std::unique_ptr<Session> session = openSession(options, nullptr);
  Dataset data(*session, names::infer, options.data, makeSay(options));
  const EntryInfo *entry = session->getManifest().findEntry(names::infer);
  std::vector<Gathered> outputs;
  for (size_t id : entry->tensors) {
    const TensorInfo &tensor = session->getTensor(id);
    if (tensor.role == Role::Output)
      outputs.push_back(
          {&tensor, id,
           !tensor.isScalar() && tensor.shape[0] == data.getBatchRows(), ""});
  }
  if (outputs.empty())
    fail(AMP_UNSUPPORTED, "entry 'infer' has no outputs");
  int64_t batches = data.countBatches(LastBatch::Wrap);
  for (int64_t i = 0; i < batches; ++i) {
    session->run(names::infer, data.getBatch(i), {});
    for (Gathered &output : outputs)
      output.bytes.append(session->read(output.id), output.tensor->bytes);
  }
  writeArrays(options.output, toArrays(outputs, data.getRows(), batches));
  return 0;
}
