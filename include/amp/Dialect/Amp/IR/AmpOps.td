// Operations of the amp dialect.

#ifndef AMP_DIALECT_AMP_IR_AMPOPS
#define AMP_DIALECT_AMP_IR_AMPOPS

include "amp/Dialect/Amp/IR/AmpBase.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Amp_Op<string mnemonic, list<Trait> traits = []>
    : Op<Amp_Dialect, mnemonic, traits>;

/// A tensor, ranked or not, of a type autocast chooses between.
def Amp_CastableTensor : TensorOf<[F16, BF16, F32]>;

def Amp_HalfTypeAttr : ConfinedAttr<TypeAttr, [
    AttrConstraint<CPred<"::llvm::isa<::mlir::Float16Type, ::mlir::BFloat16Type>(::llvm::cast<::mlir::TypeAttr>($_self).getValue())">,
                   "of f16 or bf16">]>;

def Amp_AutocastOp : Amp_Op<"autocast", [
    DeclareOpInterfaceMethods<RegionBranchOpInterface>, RecursiveMemoryEffects,
    SingleBlockImplicitTerminator<"::amp::YieldOp">]> {
  let summary = "A region to autocast in a way of its own";
  let description = [{
    The ops of the body run where they stand; their precision is assigned with
    this op's `dtype` and `policy` instead of those of the region around it (for
    the outermost one: of the pass). An absent attribute is inherited. With
    `enabled = false` nothing in the body is cast; under a policy that imitates
    an eager framework, what is half already stays so there, and ops run in the
    type that their operands promote to. Regions nest and the innermost one
    holds. The body uses outer values directly.

    Example:
    ```mlir
    %y = amp.autocast dtype = bf16 policy = "torch-cuda" -> tensor<4xf32> {
      %e = onnx.Exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
      amp.yield %e : tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins DefaultValuedAttr<BoolAttr, "true">:$enabled,
      OptionalAttr<Amp_HalfTypeAttr>:$dtype, OptionalAttr<StrAttr>:$policy);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    (`enabled` `=` $enabled^)? (`dtype` `=` $dtype^)? (`policy` `=` $policy^)?
    (`->` type($results)^)? attr-dict-with-keyword $body
  }];
}

def Amp_CastOp : Amp_Op<"cast", [Pure]> {
  let summary = "A change of precision that the tool made";
  let description = [{
    Rounds to nearest, ties to even; NaN and infinities stay, and values beyond
    the narrow type's range become infinite. With `clamp`, finite values that the
    narrow type cannot hold become its largest finite or smallest nonzero value of
    their sign instead of infinite or zero.

    Unlike `onnx.Cast`, whose rounding the user asked for, this op may be
    moved, shared and removed: what widens a value and narrows it back to its
    own type is nothing. Narrowing and widening back is not. Constants are
    never folded through it: the exporter converts them while it writes.

    Example:
    ```mlir
    %1 = amp.cast %0 : tensor<?x4xf32, #onnx.dims<"N", "">> to tensor<?x4xf16, #onnx.dims<"N", "">>
    ```
  }];
  let arguments = (ins Amp_CastableTensor:$input, UnitAttr:$clamp);
  let results = (outs Amp_CastableTensor:$result);
  let assemblyFormat = "$input (`clamp` $clamp^)? attr-dict `:` type($input) `to` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def Amp_YieldOp : Amp_Op<"yield", [HasParent<"::amp::AutocastOp">, Pure,
                                   ReturnLike, Terminator]> {
  let summary = "End of the body of `amp.autocast`";
  let description = [{
    Its operands are the results of the op around it.

    Example:
    ```mlir
    amp.yield %a, %b : tensor<4xf32>, tensor<i1>
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
  let builders = [OpBuilder<(ins), [{ /* no results */ }]>];
}

#endif // AMP_DIALECT_AMP_IR_AMPOPS
