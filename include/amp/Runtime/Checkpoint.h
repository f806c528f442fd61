//===- Checkpoint.h - Saving and loading state ------------------*- C++ -*-===//
// Checkpoints are safetensors or npz files with keys such as
// "model.fc1.weight".
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_CHECKPOINT_H
#define AMP_RUNTIME_CHECKPOINT_H

#include "amp/Runtime/Session.h"

namespace amp::runtime {

/// Where a run of amp-run is in its data: whole numbers by key.
using Extras = std::map<std::string, int64_t>;
namespace extras {
constexpr const char *epoch = "train.epoch", *batch = "train.batch",
                     *steps = "train.steps", *rows = "train.rows",
                     *shuffled = "train.shuffled", *dataSeed = "rng.data_seed";
} // namespace extras

/// The key of a state tensor: "model.<name>", "optimizer.<name>", ...
std::string getCheckpointKey(const TensorInfo &tensor);

/// Flags are those of amp_save and amp_load.
void saveCheckpoint(const Session &session, const std::string &path,
                    uint32_t flags, const Extras &extras = {});
Extras loadCheckpoint(Session &session, const std::string &path,
                      uint32_t flags);

/// Reads a safetensors, npz, npy or torch file, told apart by its first bytes.
TensorFile readTensorFile(const std::string &path);
/// The same of bytes; `path` gives a lone array its name.
TensorFile readTensors(const Bytes &bytes, const std::string &path);

} // namespace amp::runtime

#endif // AMP_RUNTIME_CHECKPOINT_H
