// Passes of the amp dialect.

#ifndef AMP_DIALECT_AMP_TRANSFORMS_PASSES
#define AMP_DIALECT_AMP_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def AssignPrecisionPass : Pass<"amp-assign-precision", "::mlir::ModuleOp"> {
  let summary = "Decide the type of every float operand and result, and why";
  let description = [{
    Puts an `amp.decision` on every op with a float operand or result and
    changes nothing else. Each op has a class from a policy (`docs/policies.md`);
    an `amp.autocast` region around an op sets dtype and policy for it.

    A policy with placement `program-order` runs each op in the type PyTorch's
    autocast would give it there. With `fewest-casts`:

    - ops of class narrow and wide get what the class says;
    - the float32 result of a wide op may be out of range, unless the op's facts
      say it is not: an op that follows its operands and has such an operand
      is wide, too (rule `range`);
    - beside a half value other operands are cast to it (rule `follow`), except
      values from outside that no narrow op reads (rule `promote`);
    - ops for which both types are open take the one for which casts and the
      ops themselves move the fewest bytes (rule `mincut`), float32 on a tie.

    An op stays in float32 for a constant that the half type cannot hold (rule
    `constant`): a value beyond its range, a number that becomes zero, more than a
    sixteenth of a tensor that does. A tiny constant that keeps a division from
    zero takes the sum of squares it is added to and the division with it (rule
    `guard`). Only float32 tensors change; ops that have half types already
    (`existing`) and ops that no table knows (`unknown`) stay as they are.

    ```mlir
    %0 = onnx.MatMul(%x, %w) : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
    ```
    becomes
    ```mlir
    %0 = onnx.MatMul(%x, %w) {amp.decision = #amp.decision<narrow (f16, f16) -> (f16), rule = table>}
      : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
    ```
  }];
  let options = [
    Option<"dtype", "dtype", "std::string", /*default=*/"",
           "Type to narrow to, f16 or bf16; without it only amp.autocast regions count">,
    Option<"policy", "policy", "std::string", /*default=*/"\"balanced\"",
           "Name of a policy, or path of a policy file">,
    ListOption<"allow", "allow", "std::string", "Operators that run narrow whatever the policy says">,
    ListOption<"deny", "deny", "std::string", "Operators that run in float32 whatever the policy says">,
    ListOption<"pin", "pin", "std::string",
               "<regex>=<type>: nodes whose whole name matches run in f32, f16 or bf16, whatever allow "
               "and deny say; a comma of a name is [,]">,
    ListOption<"pinSlot", "pin-slot", "std::string",
               "<regex>:<input>=<type>: this input, counted from 0, of such nodes has the type">,
    Option<"decisions", "decisions", "std::string", /*default=*/"",
           "Decision file whose entries hold whatever else is asked">,
    Option<"saveDecisions", "save-decisions", "std::string", /*default=*/"",
           "File to write all decisions to">,
    Option<"lossyConstants", "lossy-constants", "std::string", /*default=*/"",
           "When a constant does not fit the half type: wide (the op runs in float32), clamp or "
           "convert (it does not); default wide, in program order convert">,
    Option<"keepIOTypes", "keep-io-types", "bool", /*default=*/"true",
           "Keep the types of the function's arguments and results">
  ];
  let dependentDialects = ["::amp::AmpDialect"];
}

def InlineRegionsPass : Pass<"amp-inline-regions"> {
  let summary = "Put the ops of autocast regions in the place of the regions";
  let description = [{
    `amp.autocast` matters while precision is assigned; afterwards its body is
    moved to where the op stands. `amp-materialize-casts` does the same to the
    regions of ops with decisions; this pass is for graphs that are not to be autocast.

    ```mlir
    %y = amp.autocast dtype = f16 -> tensor<4xf32> {
      %e = onnx.Exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
      amp.yield %e : tensor<4xf32>
    }
    return %y : tensor<4xf32>
    ```
    becomes
    ```mlir
    %e = onnx.Exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
    return %e : tensor<4xf32>
    ```
  }];
}

def LintPass : Pass<"amp-lint", "::mlir::ModuleOp"> {
  let summary = "Warn of what would go wrong in half, node by node";
  let description = [{
    Looks at a float32 model and changes nothing. Each warning names the node and
    says what to do; the rules are explained in `docs/lint.md`:

    - `underflowing-guard`: a tiny constant under a division, square root or
      logarithm that becomes zero, or imprecise;
    - `overflowing-mask`: a finite constant on the way to a Softmax that becomes
      infinite;
    - `weight-range`: constants with values that become infinite, or many that become
      zero;
    - `long-sum`: sums of more elements than the type has exact integers;
    - `half-positions`: integers that count positions and are computed with as floats.

    Unknown sizes raise no warning. Autocast keeps most of what is found here
    in float32 by itself; this pass tells why, and what other tools and
    `--allow` would break.
  }];
  let options = [
    Option<"dtype", "dtype", "std::string", /*default=*/"\"f16\"", "The half type to look at: f16 or bf16">,
    Option<"file", "file", "std::string", /*default=*/"",
           "Also write the findings to this file, as JSON">,
    Option<"attach", "attach", "bool", /*default=*/"false",
           "Leave the findings on the module, for the page that amp-write-report writes">
  ];
  let dependentDialects = ["::amp::AmpDialect"];
}

def MaterializeCastsPass : Pass<"amp-materialize-casts", "::mlir::func::FuncOp"> {
  let summary = "Give values the types decided for them, with casts between";
  let description = [{
    Results get the element type their op's `amp.decision` says; arguments of
    Loop and Scan bodies that of the operand they come from. A use whose decided
    type is another than its value now has reads an `amp.cast`, of which there is
    one per value and type, right behind the value's producer. Values about which
    nothing was decided keep their types, and so do uses of them; arguments and
    results of the function keep theirs unless `keep-io-types` is false, and a
    graph output keeps its name.

    An op whose attribute names its result type (Cast, EyeLike, ConstantOfShape,
    ...) gets another attribute where the values are those a cast would give;
    elsewhere a cast follows it. Attention that became narrow asks for a float32
    softmax. Autocast regions have served their purpose and are dissolved.

    Fails when ops wait for decisions and none was made.

    ```mlir
    %0 = onnx.MatMul(%x, %w) {amp.decision = #amp.decision<narrow (f16, f16) -> (f16), rule = table>}
      : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
    return %0 : tensor<2x3xf32>
    ```
    becomes
    ```mlir
    %0 = amp.cast %x : tensor<2x4xf32> to tensor<2x4xf16>
    %1 = amp.cast %w : tensor<4x3xf32> to tensor<4x3xf16>
    %2 = onnx.MatMul(%0, %1) {amp.decision = #amp.decision<narrow (f16, f16) -> (f16), rule = table>}
      : (tensor<2x4xf16>, tensor<4x3xf16>) -> tensor<2x3xf16>
    %3 = amp.cast %2 : tensor<2x3xf16> to tensor<2x3xf32>
    return %3 : tensor<2x3xf32>
    ```
  }];
  let options = [
    Option<"clampConstants", "clamp-constants", "bool", /*default=*/"false",
           "Constants beyond the narrow range become the nearest value in it, not infinite or zero">,
    Option<"keepIOTypes", "keep-io-types", "bool", /*default=*/"true",
           "Keep the types of the function's arguments and results">
  ];
  let statistics = [Statistic<"numCasts", "num-casts", "Casts inserted">];
  let dependentDialects = ["::amp::AmpDialect"];
}

def OptimizeCastsPass : Pass<"amp-optimize-casts", "::mlir::func::FuncOp"> {
  let summary = "Remove, share and move casts; no value changes";
  let description = [{
    - Casts nobody reads, casts to the same type and widening round trips go,
      also where the widening is an `onnx.Cast`; equal casts become one.
    - An op whose attribute names its result type gives the narrow type itself
      when nobody reads the wide one and that rounds the same.
    - Casts move across ops that only move data (class `move`, and Concat) to
      where the fewest bytes are read and written, found by a minimum cut. Such an
      op becomes narrow only where everything downstream wants narrow values, so
      no value is rounded that was not, and no rounding is lost. Ops that an option or a
      decision file gave their types keep them. A dimension of unknown size counts as 64
      elements, a tensor of unknown rank as 4096.

    The `amp.decision` of a changed op says its new types with the rule `mincut`.

    ```mlir
    %0 = onnx.Transpose(%x) {amp.decision = #amp.decision<move (f32) -> (f32), rule = table>}
      : (tensor<2x4xf32>) -> tensor<4x2xf32>
    %1 = amp.cast %0 : tensor<4x2xf32> to tensor<4x2xf16>
    ```
    becomes
    ```mlir
    %0 = amp.cast %x : tensor<2x4xf32> to tensor<2x4xf16>
    %1 = onnx.Transpose(%0) {amp.decision = #amp.decision<move (f16) -> (f16), rule = mincut>}
      : (tensor<2x4xf16>) -> tensor<4x2xf16>
    ```
  }];
  let options = [
    Option<"moveCasts", "move-casts", "bool", /*default=*/"true",
           "Move casts across data movement (off: ops keep the types they were given)">
  ];
  let statistics = [
    Statistic<"numMoved", "num-moved", "Data movement ops that changed type">,
    Statistic<"numRemoved", "num-removed", "Casts removed">
  ];
  let dependentDialects = ["::amp::AmpDialect"];
}

def WriteReportPass : Pass<"amp-write-report", "::mlir::ModuleOp"> {
  let summary = "Write what was decided and done to a file";
  let description = [{
    Runs last: says for every op with an `amp.decision` which types it got, by what
    rule and why, which of its operands are cast, and how many bytes it reads
    and writes, before and after; for every constant that is narrowed, how many of
    its values that changes beyond rounding; and sums all that up first. The format is
    described in `docs/report.md`. Then the decisions are removed from the ops, as
    a model file has no place for them, and so are the findings that `amp-lint=attach`
    left: they are shown in a page.
  }];
  let options = [
    Option<"file", "file", "std::string", /*default=*/"",
           "Where to write; - is standard output, nothing writes no report">,
    Option<"format", "format", "::amp::ReportFormat", /*default=*/"::amp::ReportFormat::ByName",
           "How to write",
           [{::llvm::cl::values(
             clEnumValN(::amp::ReportFormat::ByName, "auto", "By the end of the file's name: .json, .html, else text"),
             clEnumValN(::amp::ReportFormat::Html, "html", "A page for a browser"),
             clEnumValN(::amp::ReportFormat::Json, "json", "JSON"),
             clEnumValN(::amp::ReportFormat::Text, "text", "Text"))}]>,
    Option<"keepDecisions", "keep-decisions", "bool", /*default=*/"false",
           "Leave the decisions on the ops">,
    Option<"attach", "attach", "bool", /*default=*/"false",
           "Leave the JSON on the module, as the text `amp.report`">
  ];
  let dependentDialects = ["::amp::AmpDialect"];
}

#endif // AMP_DIALECT_AMP_TRANSFORMS_PASSES
