// Attributes of the amp dialect: what was decided for an op.

#ifndef AMP_DIALECT_AMP_IR_AMPATTRS
#define AMP_DIALECT_AMP_IR_AMPATTRS

include "amp/Dialect/Amp/IR/AmpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class Amp_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::amp";
  let genSpecializedAttr = 0;
}

/// The policy library's enum, which knows no IR.
def Amp_OpClass
    : AttrOrTypeParameter<"::amp::OpClass", "what autocast does with an op"> {
  let printer = "$_printer << ::amp::stringifyOpClass($_self)";
  let parser = "::amp::detail::parseOpClass($_parser)";
}

def Amp_DecisionRule : Amp_Enum<"DecisionRule", "what made an op get its types", [
  // The op's row in the policy, or an option in its place.
  I32EnumAttrCase<"Table", 0, "table">,
  I32EnumAttrCase<"Allow", 1, "allow">,
  I32EnumAttrCase<"Deny", 2, "deny">,
  I32EnumAttrCase<"Pin", 3, "pin">,
  I32EnumAttrCase<"File", 4, "file">,
  // The types of other values.
  I32EnumAttrCase<"Follow", 5, "follow">,
  I32EnumAttrCase<"Promote", 6, "promote">,
  I32EnumAttrCase<"MinCut", 7, "mincut">,
  I32EnumAttrCase<"Loop", 8, "loop">,
  // The region the op is in.
  I32EnumAttrCase<"Region", 9, "region">,
  I32EnumAttrCase<"Disabled", 10, "disabled">,
  // What the narrow type cannot hold.
  I32EnumAttrCase<"Constant", 11, "constant">,
  I32EnumAttrCase<"Guard", 12, "guard">,
  I32EnumAttrCase<"Range", 13, "range">,
  // Ops that keep the types they have.
  I32EnumAttrCase<"Illegal", 14, "illegal">,
  I32EnumAttrCase<"Existing", 15, "existing">,
  I32EnumAttrCase<"Unknown", 16, "unknown">
]>;

def Amp_DecisionAttr : AttrDef<Amp_Dialect, "Decision"> {
  let mnemonic = "decision";
  let summary = "The types decided for an op's operands and results, and why";
  let description = [{
    The value of the discardable attribute `amp.decision`. One entry per operand
    and per result the op has: the element type it gets, or `_` where the value
    keeps the type it has. `rule` says what made the op get these types, `note`
    explains it in a sentence (the note of the policy's row, or more), `by`
    names the op, option or constant that forced it. Region ops have the types of
    their own operands and results here; their bodies' arguments and yielded
    values follow those.

    Example: `#amp.decision<narrow (f16, f16, _) -> (f16), rule = table, note = "Contraction.">`.
  }];
  // None stands for "keeps its type": a null type inside an attribute breaks
  // the replacement of nested attributes.
  let parameters = (ins Amp_OpClass:$opClass,
      ArrayRefParameter<"::mlir::Type">:$operands,
      ArrayRefParameter<"::mlir::Type">:$results,
      EnumParameter<Amp_DecisionRule>:$rule,
      OptionalParameter<"::mlir::StringAttr">:$noteAttr,
      OptionalParameter<"::mlir::StringAttr">:$byAttr);
  let skipDefaultBuilders = 1;
  let builders = [
    // Null types mean "keeps its type".
    AttrBuilder<(ins "::amp::OpClass":$opClass,
        "::llvm::ArrayRef<::mlir::Type>":$operands,
        "::llvm::ArrayRef<::mlir::Type>":$results,
        "::amp::DecisionRule":$rule, CArg<"::llvm::StringRef", "{}">:$note,
        CArg<"::llvm::StringRef", "{}">:$by)>,
    // For many decisions: nothing is copied. None means "keeps its type", null
    // strings are absent.
    AttrBuilder<(ins "::amp::OpClass":$opClass,
        "::llvm::ArrayRef<::mlir::Type>":$operands,
        "::llvm::ArrayRef<::mlir::Type>":$results,
        "::amp::DecisionRule":$rule, "::mlir::StringAttr":$note,
        "::mlir::StringAttr":$by), [{
      return $_get($_ctxt, opClass, operands, results, rule, note, by);
    }]>
  ];
  let assemblyFormat = [{
    `<` $opClass custom<SlotTypes>($operands) `->` custom<SlotTypes>($results)
    `,` `rule` `=` $rule `` custom<Reason>($noteAttr, $byAttr) `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The element type decided for an operand, null where it keeps its type.
    ::mlir::Type getOperandType(unsigned index) const;
    /// The element type decided for a result, null where it keeps its type.
    ::mlir::Type getResultType(unsigned index) const;
    /// Why, in a sentence; may be empty.
    ::llvm::StringRef getNote() const;
    /// The op, option or constant that forced the decision; may be empty.
    ::llvm::StringRef getBy() const;
  }];
}

#endif // AMP_DIALECT_AMP_IR_AMPATTRS
