//===- Manifest.h - What an artifact says about itself ----------*- C++ -*-===//
// manifest.json, fully validated: later code trusts ids and sizes.
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_MANIFEST_H
#define AMP_RUNTIME_MANIFEST_H

#include "amp/Runtime/Array.h"
#include "amp/Runtime/Json.h"
#include <array>
#include <map>
#include <optional>

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

/// What a part of an input may hold: some node takes it as indices.
struct IndexBounds {
  std::string node;
  int64_t low, high;
  /// A value beside those that is left out (`ignore_index`).
  std::optional<int64_t> ignored;
  /// The part, along each dimension.
  Shape begin, end;
};

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
  std::vector<IndexBounds> indices;

  std::string describe() const { return runtime::describe(dtype, shape); }
  bool isScalar() const { return shape.empty(); }
};

enum class Target { Cpu, Cuda };

/// Where a CUDA kernel's buffer is: a tensor of the entry by its position
/// there, or an offset in the arena.
struct BufferInfo {
  bool inArena;
  size_t number;
};

/// One node of an entry's CUDA graph: a kernel by its number, or (without) a
/// copy of `bytes` from the first buffer to the second.
struct NodeInfo {
  std::optional<size_t> kernel;
  std::array<uint32_t, 3> grid{}, block{};
  uint32_t sharedBytes = 0;
  size_t bytes = 0;
  std::vector<BufferInfo> buffers;
  /// Earlier nodes that must have ended.
  std::vector<size_t> after;
};

/// Code of a CUDA kernel for one chip.
struct BinaryInfo {
  std::string chip, file;
};

struct KernelInfo {
  std::string name, ptx;
  std::vector<BinaryInfo> binaries;
};

struct EntryInfo {
  std::string name;
  std::vector<size_t> tensors;
  size_t workspace;
  /// cpu: the function.
  std::string symbol;
  /// cuda: the graph.
  std::vector<NodeInfo> nodes;
};

struct Manifest {
  std::string version, fingerprint;
  Target target = Target::Cpu;
  /// Of Target::Cpu.
  std::string cpu, features, code;
  /// Of Target::Cuda.
  std::vector<std::string> chips;
  std::vector<KernelInfo> kernels;
  std::string init;
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

/// Fails when an input holds an index that some node cannot take.
void checkIndices(const TensorInfo &tensor, const char *data);

} // namespace amp::runtime

#endif // AMP_RUNTIME_MANIFEST_H
