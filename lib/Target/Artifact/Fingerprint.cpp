//===- Fingerprint.cpp - What makes two artifacts the same program --------===//
//
// SHA-256 over everything that decides what a step computes, and how.
//
//===----------------------------------------------------------------------===//

#include "Parts.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

using namespace mlir;
using namespace amp;
using namespace amp::artifact;

namespace {

/// Each piece goes in with its length, so that no two lists of pieces look
/// alike.
class Hasher {
public:
  void add(ArrayRef<char> bytes) {
    uint64_t size = bytes.size();
    hash.update(ArrayRef(reinterpret_cast<uint8_t *>(&size), sizeof(size)));
    hash.update(ArrayRef(reinterpret_cast<const uint8_t *>(bytes.data()),
                         bytes.size()));
  }
  void add(StringRef text) { add(ArrayRef(text.data(), text.size())); }
  void add(const llvm::json::Object &object) {
    std::string text;
    llvm::raw_string_ostream(text)
        << llvm::json::Value(llvm::json::Object(object));
    add(StringRef(text));
  }
  std::string finish() { return llvm::toHex(hash.final(), /*LowerCase=*/true); }

private:
  llvm::SHA256 hash;
};

void addTensor(Hasher &hasher, const ArtifactTensor &tensor) {
  hasher.add(StringRef(tensor.name));
  hasher.add(StringRef(tensor.role));
  hasher.add(getTypeNames(tensor.elementType).manifest);
  hasher.add(ArrayRef(reinterpret_cast<const char *>(tensor.shape.data()),
                      tensor.shape.size() * sizeof(int64_t)));
  if (tensor.role == "constant")
    // An unreadable constant is the writer's error to report.
    llvm::consumeError(streamElements(tensor.init, [&](ArrayRef<char> bytes) {
      hasher.add(bytes);
      return llvm::Error::success();
    }));
}

} // namespace

std::string amp::getFingerprint(const Artifact &artifact, StringRef graph) {
  Hasher hasher;
  hasher.add(StringRef(AMP_VERSION));
  hasher.add(graph);
  for (const ArtifactTensor &tensor : artifact.tensors)
    addTensor(hasher, tensor);
  hasher.add(artifact.config);
  hasher.add(artifact.optimizer);
  hasher.add(artifact.scaler);
  hasher.add(artifact.autocast);
  hasher.add(StringRef(std::to_string(artifact.accumulate)));
  hasher.add(StringRef(artifact.cpu));
  hasher.add(StringRef(artifact.features));
  if (artifact.kind == Artifact::Kind::Cuda)
    hasher.add(StringRef("cuda"));
  return hasher.finish();
}
