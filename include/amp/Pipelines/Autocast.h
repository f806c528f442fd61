//===- Autocast.h - The autocast pipeline ---------------------------------===//
//
// From a float32 graph to a mixed-precision one, decisions reported.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PIPELINES_AUTOCAST_H
#define AMP_PIPELINES_AUTOCAST_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace amp {

/// Options of `--autocast`; the passes document what they do.
struct AutocastPipelineOptions
    : mlir::PassPipelineOptions<AutocastPipelineOptions> {
  Option<std::string> dtype{*this, "dtype",
                            llvm::cl::desc("Type to narrow to: f16 or bf16"),
                            llvm::cl::init("f16")};
  Option<std::string> policy{
      *this, "policy",
      llvm::cl::desc(
          "Name of a policy (--list-policies), or path of a policy file"),
      llvm::cl::init("balanced")};
  ListOption<std::string> allow{
      *this, "allow",
      llvm::cl::desc("Operators that run narrow whatever the policy says")};
  ListOption<std::string> deny{
      *this, "deny",
      llvm::cl::desc("Operators that run in float32 whatever the policy says")};
  ListOption<std::string> pin{
      *this, "pin",
      llvm::cl::desc(
          "<regex>=<type>: nodes whose whole name matches run in "
          "f32, f16 or bf16, whatever allow and deny say; a comma of "
          "a name is [,]")};
  ListOption<std::string> pinSlot{
      *this, "pin-slot",
      llvm::cl::desc("<regex>:<input>=<type>: this input, counted from 0, of "
                     "such nodes has the type")};
  Option<std::string> decisions{
      *this, "decisions",
      llvm::cl::desc("Decision file whose entries hold whatever else is asked"),
      llvm::cl::init("")};
  Option<std::string> saveDecisions{
      *this, "save-decisions", llvm::cl::desc("File to write all decisions to"),
      llvm::cl::init("")};
  Option<std::string> lossyConstants{
      *this, "lossy-constants",
      llvm::cl::desc("Constants that do not fit the half type: wide (the op "
                     "runs in float32), clamp or convert"),
      llvm::cl::init("")};
  Option<bool> keepIOTypes{
      *this, "keep-io-types",
      llvm::cl::desc("Keep the types of public inputs and outputs"),
      llvm::cl::init(true)};
  Option<std::string> report{
      *this, "report",
      llvm::cl::desc("Where to write what was decided, and why: JSON or a page "
                     "if the name ends in .json or .html, else text"),
      llvm::cl::init("")};
  Option<bool> attachReport{
      *this, "attach-report",
      llvm::cl::desc("Leave the report on the module, as JSON"),
      llvm::cl::init(false)};
};

/// Appends the passes: decide, insert casts, move them to the cheapest edge,
/// report.
void buildAutocastPipeline(mlir::OpPassManager &pm,
                           const AutocastPipelineOptions &options);

/// Whether a policy casts op by op, as an eager framework would. False for one
/// that cannot be loaded: the pass that needs it reports that.
bool isProgramOrder(llvm::StringRef policy);

/// Registers `--autocast`.
void registerAutocastPipeline();

} // namespace amp

#endif // AMP_PIPELINES_AUTOCAST_H
