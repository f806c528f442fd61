//===- Tensors.h - Tensors whose data stays in the file -------------------===//
//
// Serialized TensorProtos to attributes; external data is mapped once per file.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_FRONTEND_ONNX_TENSORS_H
#define AMP_LIB_FRONTEND_ONNX_TENSORS_H

#include "Spine.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "onnx/onnx_pb.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MemoryBuffer.h"

namespace amp::importer {

/// Bytes with the mapping that they live in.
struct MappedBytes {
  llvm::ArrayRef<char> bytes;
  std::shared_ptr<llvm::MemoryBuffer> owner;
};

/// Files with tensor data beside a model.
class ExternalFiles {
public:
  /// `modelPath` is empty for a model that came from no file.
  explicit ExternalFiles(StringRef modelPath) : modelPath(modelPath.str()) {}

  /// The data of a tensor that needs `size` bytes, after checking that its path
  /// stays inside the model's folder.
  llvm::Expected<MappedBytes> read(const ::onnx::TensorProto &tensor,
                                   uint64_t size);

private:
  llvm::Expected<std::shared_ptr<llvm::MemoryBuffer>> open(StringRef location);
  llvm::Expected<std::string> resolve(StringRef location) const;

  std::string modelPath;
  llvm::StringMap<std::shared_ptr<llvm::MemoryBuffer>> files;
};

/// What a tensor says beside its value. `verbatim` is a TensorProto with the
/// fields that the IR does not model.
struct TensorNotes {
  std::optional<StringRef> name, docString;
  std::string verbatim;
};

/// Makes attributes of serialized tensors.
class TensorReader {
public:
  /// `buffer` is the model's, which attributes over its bytes keep alive.
  TensorReader(std::shared_ptr<llvm::MemoryBuffer> buffer, StringRef modelPath,
               mlir::MLIRContext *context)
      : buffer(std::move(buffer)), files(modelPath), context(context) {}

  llvm::Expected<mlir::ElementsAttr> read(StringRef bytes, TensorNotes &notes);

private:
  struct Parts;
  llvm::Error split(StringRef bytes, TensorNotes &notes, Parts &parts);
  llvm::Expected<mlir::ElementsAttr>
  makeAttribute(const ::onnx::TensorProto &proto, MappedBytes data);
  bool isInModel(StringRef bytes) const;

  std::shared_ptr<llvm::MemoryBuffer> buffer;
  ExternalFiles files;
  mlir::MLIRContext *context;
};

} // namespace amp::importer

#endif // AMP_LIB_FRONTEND_ONNX_TENSORS_H
