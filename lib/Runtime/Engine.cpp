//===- Engine.cpp - Where tensors live and entries run --------------------===//
// Chooses by the artifact's target.
//===----------------------------------------------------------------------===//

#include "amp/Runtime/Engine.h"

using namespace amp::runtime;

std::unique_ptr<Engine> amp::runtime::createEngine(const Artifact &artifact,
                                                   const amp_options &options) {
  return artifact.manifest.target == Target::Cuda
             ? createCudaEngine(artifact, options)
             : createCpuEngine(artifact, options);
}
