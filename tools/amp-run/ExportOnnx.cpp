//===- ExportOnnx.cpp - amp-run export-onnx -------------------------------===//
// Finds the original model and writes it with the trained weights.
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "amp/Runtime/Failure.h"
#include "amp/Runtime/OnnxWeights.h"
#include <unistd.h>

using namespace amp::run;
using namespace amp::runtime;

/// --model, else the path in the manifest: as it is, or beside the artifact.
static std::string findModel(const Options &options, const Manifest &manifest) {
  if (!options.model.empty())
    return options.model;
  std::string artifact = options.artifact;
  while (artifact.size() > 1 && artifact.back() == '/')
    artifact.pop_back();
  for (const std::string &path :
       {manifest.model, getFolder(artifact) + "/" + manifest.model})
    if (::access(path.c_str(), R_OK) == 0)
      return path;
  fail(AMP_NOT_FOUND, "the original model " + quote(manifest.model) +
                          " is not there any more; name it with --model");
}

int amp::run::runExportOnnx(const Options &options) {
  std::unique_ptr<Session> session = openSession(options, nullptr);
  if (options.weights.empty() && options.resume.empty())
    warn("no --weights were given: the initial ones are written");
  std::vector<Array> weights;
  const std::vector<TensorInfo> &tensors = session->getManifest().tensors;
  for (size_t id = 0; id < tensors.size(); ++id)
    if (isWeight(tensors[id].role))
      weights.push_back({tensors[id].name, tensors[id].dtype, tensors[id].shape,
                         session->read(id), tensors[id].bytes, nullptr});
  exportOnnx(findModel(options, session->getManifest()), options.output,
             weights);
  return 0;
}
