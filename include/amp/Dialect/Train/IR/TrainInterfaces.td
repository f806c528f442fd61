// What an operation must answer to be differentiated.

#ifndef AMP_DIALECT_TRAIN_IR_TRAININTERFACES
#define AMP_DIALECT_TRAIN_IR_TRAININTERFACES

include "mlir/IR/OpBase.td"

def Train_DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::amp::train";
  let description = [{
    Reverse-mode rule of an operation: the vector-Jacobian product. onnx
    operations get it as external models (`lib/Dialect/Train/Rules`).
  }];
  let methods = [
    InterfaceMethod<[{
      Builds, at the insertion point of `vjp`, the cotangents of the operands
      that `vjp.needs(i)` asks for and hands each over with `vjp.set(i, value)`,
      in the operand's shape and element type (weight gradients may be wider).
      An operand without a set value has a zero cotangent. Shapes are static.
      Fails with a diagnostic when an attribute form has no rule.
    }], "::llvm::LogicalResult", "vjp", (ins "::amp::train::Vjp &":$vjp)>,
    InterfaceMethod<[{
      Whether the rule takes cotangents wider than its results (casts, data
      movement): weight gradients then stay float32 on their way.
    }], "bool", "takesWideCotangents", (ins), [{}], [{ return false; }]>,
    InterfaceMethod<[{
      Whether a cotangent may flow into operand `index` at all: false for
      indices, shapes, masks, running statistics and the like.
    }], "bool", "carriesGradient", (ins "unsigned":$index), [{}], [{ return true; }]>
  ];
}

#endif // AMP_DIALECT_TRAIN_IR_TRAININTERFACES
