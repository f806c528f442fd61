//===- TorchCheckpoint.h - Checkpoints of training scripts ------*- C++ -*-===//
// The state_dicts of a model, an optimizer and a GradScaler in one file.
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_RUNTIME_TORCHCHECKPOINT_H
#define AMP_LIB_RUNTIME_TORCHCHECKPOINT_H

#include "amp/Runtime/Session.h"
#include "amp/Runtime/TorchFile.h"

namespace amp::runtime {

/// What reading and writing share.
namespace torch {
constexpr const char *ownKey = "amp_mlir", *metadataKey = "metadata",
                     *stateKey = "state", *groupsKey = "param_groups",
                     *scaleKey = "scale", *trackerKey = "_growth_tracker";
constexpr const char *scalerSettings[] = {"growth_factor", "backoff_factor",
                                          "growth_interval"};
/// A setting of the artifact; flags are numbers, and what is absent is zero.
double getSetting(const Json &object, const char *key);
/// Whether this is a sum of gradients, which torch.optim knows nothing of.
inline bool isAccumulated(const TensorInfo &tensor) {
  constexpr std::string_view prefix = "accumulated_grad.";
  return tensor.name.compare(0, prefix.size(), prefix) == 0;
}
} // namespace torch

/// Whether a file holds dictionaries of a training script's parts, not just one
/// model's tensors.
bool isTorchCheckpoint(const TorchValue &root);

/// The contents in the keys of this runtime's checkpoints. Parts are told by
/// what is in them, whatever they are called; settings of optimizer and scaler
/// must be those the step was compiled with.
TensorFile readTorchCheckpoint(const TorchValue &root, const Session &session,
                               const std::string &file, bool weightsOnly);

/// A checkpoint of this runtime as PyTorch's parts; what has no place in them
/// is under "amp_mlir".
TorchValue makeTorchCheckpoint(const TensorFile &file, const Session &session);

} // namespace amp::runtime

#endif // AMP_LIB_RUNTIME_TORCHCHECKPOINT_H
