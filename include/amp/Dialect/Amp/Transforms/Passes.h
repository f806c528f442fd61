//===- Passes.h - Passes of the amp dialect -------------------------------===//
//
// Generated declarations of the autocast passes and their registration.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_AMP_TRANSFORMS_PASSES_H
#define AMP_DIALECT_AMP_TRANSFORMS_PASSES_H

#include "amp/Dialect/Amp/IR/AmpDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include <memory>
#include <string>

namespace amp {

/// Moves the bodies of the autocast regions in `root` to where the regions
/// stand.
void inlineAutocastRegions(mlir::Operation *root);

/// How amp-write-report writes.
enum class ReportFormat {
  ByName, ///< by the end of the file's name: .json, .html, else text
  Html,
  Json,
  Text,
};

#define GEN_PASS_DECL
#include "amp/Dialect/Amp/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "amp/Dialect/Amp/Transforms/Passes.h.inc"

} // namespace amp

#endif // AMP_DIALECT_AMP_TRANSFORMS_PASSES_H
