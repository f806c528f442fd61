//===- ForeignFile.h - Files that are no models of ours ---------*- C++ -*-===//
//
// Tells what a file is that is neither an ONNX model nor MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_AMP_OPT_FOREIGNFILE_H
#define AMP_TOOLS_AMP_OPT_FOREIGNFILE_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace amp {

/// What `contents`, which are no ONNX model, are, and what to do with them;
/// empty when they may be MLIR text or bytecode.
std::string describeForeignFile(llvm::StringRef contents);

} // namespace amp

#endif // AMP_TOOLS_AMP_OPT_FOREIGNFILE_H
