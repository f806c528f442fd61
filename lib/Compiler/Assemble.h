//===- Assemble.h - What an artifact is made of ---------------------------===//
//
// Private to this library.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_COMPILER_ASSEMBLE_H
#define AMP_LIB_COMPILER_ASSEMBLE_H

#include "amp/Codegen/Cpu/Backend/CpuTarget.h"
#include "amp/Codegen/Plan/Entry.h"
#include "amp/Dialect/Train/Config/TrainingConfig.h"
#include "amp/Target/Artifact/WriteArtifact.h"
#include "llvm/ADT/StringMap.h"

namespace amp {

/// Collects the tensors of several entries: what has the same name is the same
/// tensor.
class TensorTable {
public:
  explicit TensorTable(Artifact &artifact) : artifact(artifact) {}

  /// Adds an entry of `function`, whose arguments say what states begin with.
  /// How it is run is the caller's to fill in.
  ArtifactEntry &add(mlir::func::FuncOp function,
                     const plan::CompiledEntry &entry);

private:
  unsigned getTensor(const plan::TensorInfo &info, mlir::ElementsAttr init,
                     llvm::StringRef entry);

  Artifact &artifact;
  llvm::StringMap<unsigned> byName;
};

/// The features of `target` that instructions of generated code may need, out
/// of all that the processor has (those of the system, of cryptography and the
/// like).
std::string getCodeFeatures(const cpu::CpuTarget &target);

/// What the manifest says about training, beside train.json itself.
void describeTraining(const train::TrainingConfig &config, Artifact &artifact);

} // namespace amp

#endif // AMP_LIB_COMPILER_ASSEMBLE_H
