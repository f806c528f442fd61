//===- Info.cpp - An artifact described -----------------------------------===//
// Collects what a user or a program asks about an artifact.
//===----------------------------------------------------------------------===//

#include "amp/Runtime/Info.h"

using namespace amp::runtime;

static Json getTensors(const Session &session) {
  Json list = Json::array();
  for (const TensorInfo &tensor : session.getManifest().tensors) {
    Json row = {{"name", tensor.name},
                {"role", getName(tensor.role)},
                {"dtype", getName(tensor.dtype)},
                {"shape", tensor.shape},
                {"bytes", tensor.bytes}};
    if (!tensor.of.empty())
      row["of"] = tensor.of;
    list.push_back(std::move(row));
  }
  return list;
}

static Json getEntries(const Session &session) {
  Json list = Json::array();
  for (const EntryInfo &entry : session.getManifest().entries) {
    Json inputs = Json::array(), outputs = Json::array();
    for (size_t id : entry.tensors) {
      const TensorInfo &tensor = session.getTensor(id);
      if (isFed(tensor.role))
        inputs.push_back(tensor.name);
      else if (!isState(tensor.role))
        outputs.push_back(tensor.name);
    }
    list.push_back({{"name", entry.name},
                    {"inputs", inputs},
                    {"outputs", outputs},
                    {"workspace", entry.workspace}});
  }
  return list;
}

Json amp::runtime::getInfo(const Session &session) {
  const Manifest &manifest = session.getManifest();
  uint64_t parameters = 0, state = 0;
  for (const TensorInfo &tensor : manifest.tensors) {
    if (tensor.role == Role::Parameter)
      parameters += tensor.bytes / getSize(tensor.dtype);
    if (isState(tensor.role))
      state += tensor.bytes;
  }
  return {{"version", manifest.version},
          {"fingerprint", manifest.fingerprint},
          {"target", manifest.target == Target::Cuda ? "cuda" : "cpu"},
          {"device", session.describeTarget()},
          {"cpu", manifest.cpu},
          {"features", manifest.features},
          {"chips", manifest.chips},
          {"model", manifest.model},
          {"config", manifest.config},
          {"optimizer", manifest.optimizer},
          {"scaler", manifest.scaler},
          {"autocast", manifest.autocast},
          {"accumulate", manifest.accumulate},
          {"parameters", parameters},
          {"state_bytes", state},
          {"entries", getEntries(session)},
          {"tensors", getTensors(session)}};
}
