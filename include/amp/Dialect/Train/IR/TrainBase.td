// The train dialect.

#ifndef AMP_DIALECT_TRAIN_IR_TRAINBASE
#define AMP_DIALECT_TRAIN_IR_TRAINBASE

include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Train_Dialect : Dialect {
  let name = "train";
  let cppNamespace = "::amp::train";
  let summary = "Gradients, loss scaling and optimizer updates of a training step";
  let description = [{
    Gradient operations that ONNX lacks, and the operations of a training step
    beyond forward and backward: finite check, clipping, optimizer updates.
    Arguments and results of a step function carry the discardable attribute
    `train.role`, and results that are written over an argument `train.alias`.
    Rationale: `docs/rationale/train.md`.
  }];
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let dependentDialects = ["::amp::AmpDialect", "::amp::onnx::OnnxDialect"];
  let extraClassDeclaration = [{
    /// On arguments and results of a step: what the value is, a `Role` by name.
    static constexpr ::llvm::StringLiteral getRoleAttrName() {
      return "train.role";
    }
    /// On results: the number of the argument whose memory the result is
    /// written to (i64).
    static constexpr ::llvm::StringLiteral getAliasAttrName() {
      return "train.alias";
    }
    /// On arguments and results that belong to a parameter (its gradient, its
    /// optimizer states): the parameter's name.
    static constexpr ::llvm::StringLiteral getOfAttrName() {
      return "train.of";
    }
    /// On arguments that a step keeps from call to call: the value to start
    /// from (elements of the argument's type).
    static constexpr ::llvm::StringLiteral getInitAttrName() {
      return "train.init";
    }
    /// On an onnx.Identity that no gradient passes (detach, unit attribute or
    /// true). Nothing may fold it before differentiation.
    static constexpr ::llvm::StringLiteral getStopGradientAttrName() {
      return "train.stop_gradient";
    }

  private:
    void registerOps();

  public:
  }];
}

class Train_Op<string mnemonic, list<Trait> traits = []>
    : Op<Train_Dialect, mnemonic, traits>;

/// Values of gradients: the types a forward value may have, and f64 for checks.
def Train_FloatTensor : RankedTensorOf<[F16, BF16, F32, F64]>;
/// What is accumulated in at least single precision.
def Train_WideTensor : RankedTensorOf<[F32, F64]>;

#endif // AMP_DIALECT_TRAIN_IR_TRAINBASE
