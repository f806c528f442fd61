//===- AmpAttrs.cpp - Attributes of the amp dialect -----------------------===//
//
// The decision attribute: construction, checks and the lists of types.
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/Amp/IR/AmpDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace amp;

FailureOr<OpClass> amp::detail::parseOpClass(AsmParser &parser) {
  StringRef word;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&word))
    return failure();
  if (std::optional<OpClass> opClass = symbolizeOpClass(word))
    return *opClass;
  return parser.emitError(loc) << "expects a class of a policy (narrow, wide, "
                                  "promote, follow, move or never), but got '"
                               << word << "'";
}

/// `(f16, _, f32)`, where `_` is a slot that keeps its type.
static ParseResult parseSlotTypes(AsmParser &parser,
                                  SmallVectorImpl<Type> &types) {
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Paren, [&]() -> ParseResult {
        StringRef keyword;
        if (succeeded(parser.parseOptionalKeyword(&keyword, {"_"}))) {
          types.push_back(NoneType::get(parser.getContext()));
          return success();
        }
        return parser.parseType(types.emplace_back());
      });
}

static void printSlotTypes(AsmPrinter &printer, ArrayRef<Type> types) {
  auto printSlot = [&](Type type) {
    if (isa<NoneType>(type))
      printer << "_";
    else
      printer << type;
  };
  printer << "(";
  llvm::interleaveComma(types, printer, printSlot);
  printer << ")";
}

/// `, note = "..."`, `, by = "..."`, both or neither.
static ParseResult parseReason(AsmParser &parser, StringAttr &note,
                               StringAttr &by) {
  if (failed(parser.parseOptionalComma()))
    return success();
  if (succeeded(parser.parseOptionalKeyword("note"))) {
    if (parser.parseEqual() || parser.parseAttribute(note))
      return failure();
    if (failed(parser.parseOptionalComma()))
      return success();
  }
  return failure(parser.parseKeyword("by") || parser.parseEqual() ||
                 parser.parseAttribute(by));
}

static void printReason(AsmPrinter &printer, StringAttr note, StringAttr by) {
  if (note)
    printer << ", note = " << note;
  if (by)
    printer << ", by = " << by;
}

#include "amp/Dialect/Amp/IR/AmpEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "amp/Dialect/Amp/IR/AmpAttrs.cpp.inc"

void AmpDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "amp/Dialect/Amp/IR/AmpAttrs.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// DecisionAttr
//===----------------------------------------------------------------------===//

DecisionAttr DecisionAttr::get(MLIRContext *context, OpClass opClass,
                               ArrayRef<Type> operands, ArrayRef<Type> results,
                               DecisionRule rule, StringRef note,
                               StringRef by) {
  auto noneForNull = [&](ArrayRef<Type> types) {
    return llvm::map_to_vector(
        types, [&](Type type) { return type ? type : NoneType::get(context); });
  };
  auto nullForEmpty = [&](StringRef text) {
    return text.empty() ? StringAttr() : StringAttr::get(context, text);
  };
  return Base::get(context, opClass, noneForNull(operands),
                   noneForNull(results), rule, nullForEmpty(note),
                   nullForEmpty(by));
}

LogicalResult DecisionAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   OpClass, ArrayRef<Type> operands,
                                   ArrayRef<Type> results, DecisionRule,
                                   StringAttr, StringAttr) {
  for (Type type : llvm::concat<const Type>(operands, results))
    if (!isa<NoneType, Float16Type, BFloat16Type, Float32Type>(type))
      return emitError() << "expects f16, bf16, f32 or _ for an operand or "
                            "result, but got "
                         << type;
  return success();
}

static Type nullForNone(Type type) {
  return isa<NoneType>(type) ? Type() : type;
}

Type DecisionAttr::getOperandType(unsigned index) const {
  return nullForNone(getOperands()[index]);
}

Type DecisionAttr::getResultType(unsigned index) const {
  return nullForNone(getResults()[index]);
}

StringRef DecisionAttr::getNote() const {
  return getNoteAttr() ? getNoteAttr().getValue() : StringRef();
}

StringRef DecisionAttr::getBy() const {
  return getByAttr() ? getByAttr().getValue() : StringRef();
}
