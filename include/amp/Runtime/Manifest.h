//===- Manifest.h - What an artifact says about itself ----------*- C++ -*-===//
// manifest.json, fully validated: later code trusts ids and sizes.
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_MANIFEST_H
#define AMP_RUNTIME_MANIFEST_H

#include "amp/Runtime/Array.h"
#include "amp/Runtime/Json.h"
#include <map>

namespace amp::runtime {

/// What a tensor is. Those from Parameter to Constant are state: they live in
/// the session between steps and have an initial value.
enum class Role {
  Input,
  Label,
  Parameter,
  Buffer,
  OptimizerState,
  ScalerState,
  Counter,
  Hyper,
  Constant,
  Loss,
  Output,
  Gradient,
  Metric
};

const char *getName(Role role);
bool isState(Role role);
inline bool isFed(Role role) {
  return role == Role::Input || role == Role::Label;
}
inline bool isWeight(Role role) {
  return role == Role::Parameter || role == Role::Buffer;
}

struct TensorInfo {
  std::string name;
  Role role;
  DType dtype;
  Shape shape, strides;
  size_t bytes;
  /// The parameter that a gradient or optimizer state belongs to, or empty.
  std::string of;
  /// Of state: a key of the init file or a value for all elements.
  std::string initKey;
  double initValue = 0;

  std::string describe() const { return runtime::describe(dtype, shape); }
  bool isScalar() const { return shape.empty(); }
};

struct EntryInfo {
  std::string name, symbol;
  std::vector<size_t> tensors;
  size_t workspace;
};

struct Manifest {
  std::string version, fingerprint;
  std::string cpu, features;
  std::string code, init;
  std::string model;
  /// train.json as it was given.
  Json config;
  Json optimizer, scaler, autocast;
  int64_t accumulate;
  std::vector<TensorInfo> tensors;
  std::vector<EntryInfo> entries;

  /// Null when there is none.
  const EntryInfo *findEntry(std::string_view name) const;
  std::optional<size_t> findTensor(std::string_view name) const;

private:
  friend Manifest parseManifest(std::string_view text);
  std::map<std::string, size_t, std::less<>> ids;
};

Manifest parseManifest(std::string_view text);

} // namespace amp::runtime

#endif // AMP_RUNTIME_MANIFEST_H
