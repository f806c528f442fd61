// The amp dialect.

#ifndef AMP_DIALECT_AMP_IR_AMPBASE
#define AMP_DIALECT_AMP_IR_AMPBASE

include "mlir/IR/OpBase.td"

def Amp_Dialect : Dialect {
  let name = "amp";
  let cppNamespace = "::amp";
  let summary = "Autocast regions, casts the tool made, precision decisions";
  let description = [{
    `amp.autocast` says where and how to autocast, the discardable attribute
    `amp.decision` says what was decided for an op and why, and `amp.cast` is a
    cast that the decisions made necessary. Rationale: `docs/rationale/amp.md`.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let dependentDialects = ["::amp::onnx::OnnxDialect"];
  let extraClassDeclaration = [{
    /// What was decided for an op: a `DecisionAttr`.
    static constexpr ::llvm::StringLiteral getDecisionAttrName() {
      return "amp.decision";
    }
    /// On a function: how many casts of the user were removed as useless.
    static constexpr ::llvm::StringLiteral getRemovedCastsAttrName() {
      return "amp.removed_casts";
    }
    /// On a module: the report and the findings of lint, as JSON texts, for
    /// whoever runs the passes.
    static constexpr ::llvm::StringLiteral getReportAttrName() {
      return "amp.report";
    }
    static constexpr ::llvm::StringLiteral getFindingsAttrName() {
      return "amp.findings";
    }

  private:
    void registerAttributes();
    void registerOps();

  public:
  }];
}

#endif // AMP_DIALECT_AMP_IR_AMPBASE
