//===- WriteArtifact.h - A compiled step as a directory -------------------===//
//
// manifest.json, init.safetensors and the code (a library, or a folder of CUDA
// kernels), what amp-run and the C API load.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TARGET_ARTIFACT_WRITEARTIFACT_H
#define AMP_TARGET_ARTIFACT_WRITEARTIFACT_H

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <array>
#include <optional>
#include <string>
#include <vector>

namespace amp {

/// What a part of an input may hold, as some node takes it as indices.
struct ArtifactIndices {
  std::string node;
  int64_t low, high;
  /// A value beside those that is left out (`ignore_index`).
  std::optional<int64_t> ignored;
  /// The part, along each dimension.
  llvm::SmallVector<int64_t> begin, end;
};

/// A tensor that entries are called with.
struct ArtifactTensor {
  std::string name;
  /// A role of the train dialect by its name, or `constant`.
  std::string role;
  /// The parameter that a gradient or a state belongs to.
  std::string of;
  mlir::Type elementType;
  llvm::SmallVector<int64_t> shape;
  /// Initial value of what is state or constant; null for everything else.
  mlir::ElementsAttr init;
  std::vector<ArtifactIndices> indices = {};

  /// Whether the artifact has to say what the tensor begins with.
  bool isState() const;
};

/// Where a kernel's buffer is: a tensor of the entry by its position there, or
/// an offset in the arena.
struct ArtifactBuffer {
  bool inArena = false;
  int64_t number = 0;
};

/// One node of a CUDA graph: the launch of a kernel (its number), or a copy of
/// `bytes` from the first buffer to the second.
struct ArtifactNode {
  std::optional<unsigned> kernel;
  std::array<int64_t, 3> grid, block;
  int64_t sharedBytes = 0;
  llvm::SmallVector<ArtifactBuffer> buffers;
  int64_t bytes = 0;
  /// Nodes that must have ended before.
  llvm::SmallVector<unsigned> after;
};

struct ArtifactEntry {
  std::string name;
  /// Positions in the artifact's tensors, in the order the entry takes them.
  llvm::SmallVector<unsigned> tensors;
  uint64_t workspace = 0;
  /// cpu: the function in the code.
  std::string symbol;
  /// cuda: the graph.
  std::vector<ArtifactNode> nodes;
};

/// Code of a kernel for one chip.
struct ArtifactBinary {
  std::string chip;
  llvm::SmallVector<char, 0> bytes;
  int64_t registers = 0, sharedBytes = 0, stackBytes = 0, spillBytes = 0;
};

struct ArtifactKernel {
  /// The symbol, and the name of its files.
  std::string name;
  std::string ptx;
  std::vector<ArtifactBinary> binaries;
};

struct Artifact {
  enum class Kind { Cpu, Cuda } kind = Kind::Cpu;
  /// cpu: the processor and the features that the code may use.
  std::string cpu, features;
  /// cuda: what there are binaries for, besides the PTX.
  std::vector<std::string> chips;
  std::vector<ArtifactKernel> kernels;
  /// File name of the model, and train.json as given.
  std::string model;
  llvm::json::Object config;
  llvm::json::Object optimizer, scaler, autocast;
  int64_t accumulate = 1;
  std::vector<ArtifactTensor> tensors;
  std::vector<ArtifactEntry> entries;
  /// cpu: bytes of the shared library.
  llvm::SmallVector<char, 0> code;
  /// 64 hexadecimal digits.
  std::string fingerprint;
};

/// SHA-256 over `graph` (the step as text) and what the artifact says besides
/// it: names, shapes and types of tensors, constants, options, version. Initial
/// values of states do not count: a checkpoint replaces them.
std::string getFingerprint(const Artifact &artifact, llvm::StringRef graph);

/// Whether an artifact may be written to `path`: nothing is there, or an empty
/// folder, or an artifact, which gets replaced (other files in it stay).
llvm::Error checkArtifactPath(llvm::StringRef path);

/// Writes the directory `path`. It is made under another name beside it and
/// renamed at the end, so that an older artifact stays whole until then; on
/// failure nothing is left behind.
llvm::Error writeArtifact(const Artifact &artifact, llvm::StringRef path);

} // namespace amp

#endif // AMP_TARGET_ARTIFACT_WRITEARTIFACT_H
