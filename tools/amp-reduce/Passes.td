// Passes of amp-reduce alone.

#ifndef AMP_TOOLS_AMP_REDUCE_PASSES
#define AMP_TOOLS_AMP_REDUCE_PASSES

include "mlir/Pass/PassBase.td"

def LeaveOutPass : Pass<"leave-out", "::mlir::ModuleOp"> {
  let summary = "Leave out ops while a test still finds the file interesting";
  let description = [{
    Tries to do without all ops, then halves of them, and so on to single ops. What
    reads the result of an op that is left out reads an operand of the same type
    instead, or zeros where there is none and the shape is static. Only modules that
    verify are shown to the test, which is a program that is given the file's name and ends with 1
    if the file is interesting.
  }];
  let options = [
    Option<"testerName", "test", "std::string", /*default=*/"", "The program that tests a file">,
    ListOption<"testerArgs", "test-arg", "std::string", "Its arguments before the file's name">
  ];
  let dependentDialects = ["::amp::onnx::OnnxDialect"];
}

#endif // AMP_TOOLS_AMP_REDUCE_PASSES
