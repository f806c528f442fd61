//===- ModelFile.h - Reading and writing model files by kind --------------===//
//
// The kind of the input is told by content, that of the output by name or
// option.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_AMP_OPT_MODELFILE_H
#define AMP_TOOLS_AMP_OPT_MODELFILE_H

#include "amp/Target/Onnx/ExportOnnx.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringRef.h"

namespace amp {

enum class FileKind { Unknown, Onnx, Text, Bytecode };

/// Reads `input` ("-": standard input), runs the pass pipeline of the command
/// line, writes `output`. `emit` Unknown: the output's kind follows from its
/// name. With `findingsOnly` an ONNX model is checked and nothing is written.
mlir::LogicalResult processFile(llvm::StringRef input, llvm::StringRef output,
                                FileKind emit,
                                const ExportOnnxOptions &exportOptions,
                                bool findingsOnly,
                                mlir::DialectRegistry &registry);

} // namespace amp

#endif // AMP_TOOLS_AMP_OPT_MODELFILE_H
