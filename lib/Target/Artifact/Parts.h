//===- Parts.h - Pieces of the artifact writer ----------------------------===//
//
// Private to this library.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_TARGET_ARTIFACT_PARTS_H
#define AMP_LIB_TARGET_ARTIFACT_PARTS_H

#include "amp/Support/AtomicFile.h"
#include "amp/Target/Artifact/WriteArtifact.h"
#include <optional>

namespace amp::artifact {

inline constexpr llvm::StringLiteral manifestName = "manifest.json";
inline constexpr llvm::StringLiteral initName = "init.safetensors";
inline constexpr llvm::StringLiteral codeName = "libstep.so";
/// The folder of CUDA kernels.
inline constexpr llvm::StringLiteral kernelsName = "kernels";

/// The path of a kernel's file in the artifact; without a chip, of its PTX.
std::string getKernelFile(llvm::StringRef kernel, llvm::StringRef chip = "");

/// The spelling of an element type in the manifest ("f32") and in safetensors
/// ("F32"); empty when artifacts have no such tensors.
struct TypeNames {
  llvm::StringRef manifest, safetensors;
};
TypeNames getTypeNames(mlir::Type elementType);

/// The number that all elements of `value` are, if they are one and a double
/// holds it.
std::optional<double> getUniformNumber(mlir::ElementsAttr value);

/// Hands the elements of `value`, in row-major order, to `sink` piece by piece.
llvm::Error
streamElements(mlir::ElementsAttr value,
               llvm::function_ref<llvm::Error(llvm::ArrayRef<char>)> sink);

/// The text of manifest.json.
std::string printManifest(const Artifact &artifact);

/// Writes the initial values that are not one number.
llvm::Error writeSafetensors(const Artifact &artifact, AtomicFile &file);

/// A folder under a temporary name beside `target`; goes, with what is in it,
/// unless `publish` succeeds.
class ArtifactFolder {
public:
  static llvm::Expected<std::unique_ptr<ArtifactFolder>>
  create(llvm::StringRef target);
  ~ArtifactFolder();
  ArtifactFolder(const ArtifactFolder &) = delete;
  ArtifactFolder &operator=(const ArtifactFolder &) = delete;

  std::string getPath(llvm::StringRef file) const;
  /// Makes a folder in it.
  llvm::Error addFolder(llvm::StringRef name) const;
  /// Puts the folder in the target's place.
  llvm::Error publish();

private:
  explicit ArtifactFolder(llvm::StringRef target) : target(target) {}

  llvm::Error takeOverFiles();

  std::string target, temporary;
};

} // namespace amp::artifact

#endif // AMP_LIB_TARGET_ARTIFACT_PARTS_H
