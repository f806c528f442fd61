//===- OnnxWeights.h - New weights for an ONNX file -------------*- C++ -*-===//
// Writes a model again with other values in its initializers.
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_ONNXWEIGHTS_H
#define AMP_RUNTIME_ONNXWEIGHTS_H

#include "amp/Runtime/Array.h"

namespace amp::runtime {

/// Copies the model at `source` to `target` with the initializers that
/// `weights` names replaced; all other bytes are kept. Values are rounded to
/// the initializer's element type. Initializers in external files are written
/// to "<target's name>.data" beside the target. Every weight must be an
/// initializer of the same shape.
void exportOnnx(const std::string &source, const std::string &target,
                const std::vector<Array> &weights);

} // namespace amp::runtime

#endif // AMP_RUNTIME_ONNXWEIGHTS_H
