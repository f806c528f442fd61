//===- OnnxAssembly.cpp - The one assembly form of schema operations ------===//
//
// onnx.Name(%a, _, %b) ({regions}) {attributes} : (type, _, type) -> type, with `_` for an absent optional value.
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/Onnx/IR/OnnxDialect.h"

using namespace mlir;
using namespace amp::onnx;

namespace {

using Unresolved = OpAsmParser::UnresolvedOperand;

/// `(%a, _, %b)`; absent operands are std::nullopt.
ParseResult parseOperands(OpAsmParser &parser, SmallVectorImpl<std::optional<Unresolved>> &operands) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, [&]() -> ParseResult {
    if (succeeded(parser.parseOptionalKeyword("_"))) {
      operands.push_back(std::nullopt);
      return success();
    }
    return parser.parseOperand(operands.emplace_back().emplace());
  });
}

/// One type or `_` (null).
ParseResult parseTypeOrAbsent(OpAsmParser &parser, SmallVectorImpl<Type> &types) {
  if (succeeded(parser.parseOptionalKeyword("_"))) {
    types.push_back(Type());
    return success();
  }
  return parser.parseType(types.emplace_back());
}

/// `(type, _) -> type` or `... -> (type, type)`.
ParseResult parseSignature(OpAsmParser &parser, SmallVectorImpl<Type> &inputs, SmallVectorImpl<Type> &results) {
  auto one = [&](SmallVectorImpl<Type> &types) { return [&] { return parseTypeOrAbsent(parser, types); }; };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, one(inputs)) || parser.parseArrow())
    return failure();
  if (succeeded(parser.parseOptionalLParen())) {
    if (succeeded(parser.parseOptionalRParen()))
      return success();
    return failure(parser.parseCommaSeparatedList(one(results)) || parser.parseRParen());
  }
  return parseTypeOrAbsent(parser, results);
}

ParseResult resolveOperands(OpAsmParser &parser, SMLoc loc, ArrayRef<std::optional<Unresolved>> operands,
                            ArrayRef<Type> types, SmallVectorImpl<Value> &values) {
  if (operands.size() != types.size())
    return parser.emitError(loc) << "expected as many operand types as operands, but got " << types.size() << " types and "
                                 << operands.size() << " operands";
  for (auto [operand, type] : llvm::zip_equal(operands, types)) {
    if (!operand || !type) {
      if (operand || type)
        return parser.emitError(loc, "expected '_' for both the operand and its type when it is absent");
      values.push_back(Value());
      continue;
    }
    SmallVector<Value> resolved;
    if (parser.resolveOperand(*operand, type, resolved))
      return failure();
    values.push_back(resolved.front());
  }
  return success();
}

/// Prints `(a, _, b)` with `printOne` for present elements.
template <typename Range, typename Fn> void printPositions(OpAsmPrinter &printer, const Range &range, Fn printOne) {
  printer << '(';
  llvm::interleaveComma(range, printer, [&](auto element) {
    if (element)
      printOne(element);
    else
      printer << '_';
  });
  printer << ')';
}

} // namespace

ParseResult amp::onnx::detail::parseSchemaOp(OpAsmParser &parser, OperationState &result, const OpSpec &spec) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<std::optional<Unresolved>> operands;
  if (parseOperands(parser, operands))
    return failure();
  SmallVector<std::unique_ptr<Region>> regions;
  if (!spec.regions.empty() && parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, [&] {
        return parser.parseRegion(*regions.emplace_back(std::make_unique<Region>()));
      }))
    return failure();
  SmallVector<Type> inputTypes, resultTypes;
  NamedAttrList attributes;
  SMLoc attributesLoc = parser.getCurrentLocation();
  if (parser.parseOptionalAttrDict(attributes) || parser.parseColon() ||
      parseSignature(parser, inputTypes, resultTypes))
    return failure();
  // An attribute of another kind has no place in the operation and would get lost.
  if (failed(result.name.verifyInherentAttrs(attributes, [&] {
        return parser.emitError(attributesLoc) << "'" << result.name.getStringRef() << "' op ";
      })))
    return failure();
  SmallVector<Value> values;
  if (resolveOperands(parser, loc, operands, inputTypes, values))
    return failure();
  if (failed(buildSchemaOp(result, spec, values, resultTypes)))
    return parser.emitError(loc) << "operands or results do not fit the formal parameters of " << spec.name;
  result.addAttributes(attributes);
  for (auto &region : regions)
    result.addRegion(std::move(region));
  return success();
}

void amp::onnx::detail::printSchemaOp(OpAsmPrinter &printer, Operation *op) {
  printPositions(printer, getPositionalInputs(op), [&](Value value) { printer << value; });
  if (op->getNumRegions()) {
    printer << " (";
    llvm::interleaveComma(op->getRegions(), printer, [&](Region &region) { printer.printRegion(region); });
    printer << ')';
  }
  printer.printOptionalAttrDict(op->getAttrs(), {"operandSegmentSizes", "resultSegmentSizes"});
  printer << " : ";
  printPositions(printer, getPositionalInputs(op), [&](Value value) { printer << value.getType(); });
  printer << " -> ";
  SmallVector<Value> results = getPositionalOutputs(op);
  if (results.size() == 1 && results.front())
    printer << results.front().getType();
  else
    printPositions(printer, results, [&](Value value) { printer << value.getType(); });
}

//===----------------------------------------------------------------------===//
// onnx.initializer
//===----------------------------------------------------------------------===//

ParseResult InitializerOp::parse(OpAsmParser &parser, OperationState &result) {
  Attribute value;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseAttribute(value) || parser.parseOptionalAttrDict(result.attributes))
    return failure();
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements)
    return parser.emitError(loc, "expected an elements attribute, but got ") << value;
  result.addAttribute(getValueAttrName(result.name), value);
  result.addTypes(elements.getType());
  return success();
}

void InitializerOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getValue();
  printer.printOptionalAttrDict((*this)->getAttrs(), getValueAttrName().getValue());
}

LogicalResult InitializerOp::verify() {
  if (getValue().getType() != getType())
    return emitOpError("expects the type of its value, ") << getValue().getType() << ", but got " << getType();
  return success();
}
