// What every operation generated from a schema answers.

#ifndef AMP_DIALECT_ONNX_IR_ONNXINTERFACES
#define AMP_DIALECT_ONNX_IR_ONNXINTERFACES

include "mlir/IR/OpBase.td"

def Onnx_SchemaOpInterface : OpInterface<"SchemaOpInterface"> {
  let cppNamespace = "::amp::onnx";
  let description = [{
    An operation generated from an ONNX operator schema. `getSpec` gives the schema's facts; the two range methods find the
    values of a formal parameter, so that code over all operators needs no generated class.
  }];
  let methods = [
    StaticInterfaceMethod<"The schema's facts.", "const ::amp::onnx::OpSpec &", "getSpec">,
    InterfaceMethod<"First operand and number of operands of formal input `index`.", "std::pair<unsigned, unsigned>",
                    "getInputRange", (ins "unsigned":$index), [{
      return $_op.getODSOperandIndexAndLength(index);
    }]>,
    InterfaceMethod<"First result and number of results of formal output `index`.", "std::pair<unsigned, unsigned>",
                    "getOutputRange", (ins "unsigned":$index), [{
      return $_op.getODSResultIndexAndLength(index);
    }]>
  ];
  let verify = [{ return ::amp::onnx::detail::verifyTypeVariables($_op); }];
}

#endif // AMP_DIALECT_ONNX_IR_ONNXINTERFACES
