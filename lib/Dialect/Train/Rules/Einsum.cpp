//===- Einsum.cpp - Gradient rule of Einsum -------------------------------===//
//
// The cotangent of an operand is an Einsum of the result's cotangent and the
// other operands, whose output subscripts are the operand's.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.DEF.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringExtras.h"
#include <map>

using namespace mlir;
using namespace amp;
using namespace amp::train;

//===----------------------------------------------------------------------===//
// Equations
//===----------------------------------------------------------------------===//

namespace {

/// An equation with one letter per dimension: an ellipsis is spelled out.
struct Equation {
  SmallVector<std::string> operands;
  std::string result;
  /// How many elements a letter runs over.
  std::map<char, int64_t> sizes;
};

constexpr StringLiteral letters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// `count` letters that `text` does not use.
std::string unusedLetters(StringRef text, size_t count) {
  std::string unused;
  for (char letter : letters)
    if (!text.contains(letter) && unused.size() < count)
      unused += letter;
  return unused;
}

/// `term` with the last of `ellipsis` for its "...", so that it has `rank`.
std::string spellOut(StringRef term, StringRef ellipsis, size_t rank) {
  size_t place = term.find("...");
  if (place == StringRef::npos)
    return term.str();
  StringRef before = term.take_front(place), after = term.drop_front(place + 3);
  size_t dims = rank - before.size() - after.size();
  return (before + ellipsis.take_back(dims) + after).str();
}

/// Without "->": the ellipsis, then the letters that occur once in order.
std::string impliedResult(StringRef terms, StringRef ellipsis) {
  std::string once;
  for (char letter : terms)
    if (llvm::isAlpha(letter) && terms.count(letter) == 1)
      once += letter;
  llvm::sort(once);
  return ellipsis.str() + once;
}

/// Dimensions that the widest ellipsis of `terms` stands for.
size_t ellipsisRank(ArrayRef<StringRef> terms, OperandRange operands) {
  size_t widest = 0;
  for (auto [term, operand] : llvm::zip(terms, operands))
    if (term.contains("..."))
      widest = std::max(widest, onnx::getStaticShape(operand).size() -
                                    (term.size() - 3));
  return widest;
}

Equation parseEquation(onnx::EinsumOp op) {
  std::string text = op.getEquation().str();
  llvm::erase(text, ' ');
  auto [left, right] = StringRef(text).split("->");
  SmallVector<StringRef> terms;
  left.split(terms, ',');
  size_t rank = ellipsisRank(terms, op.getInputs());
  std::string ellipsis = unusedLetters(text, rank);
  Equation equation;
  for (auto [term, operand] : llvm::zip(terms, op.getInputs())) {
    ArrayRef<int64_t> shape = onnx::getStaticShape(operand);
    equation.operands.push_back(spellOut(term, ellipsis, shape.size()));
    for (auto [letter, dim] : llvm::zip(equation.operands.back(), shape)) {
      int64_t &size = equation.sizes.try_emplace(letter, 1).first->second;
      size = dim == 1 ? size : dim;
    }
  }
  size_t resultRank = onnx::getStaticShape(op.getOutput()).size();
  equation.result = StringRef(text).contains("->")
                        ? spellOut(right, ellipsis, resultRank)
                        : impliedResult(left, ellipsis);
  return equation;
}

//===----------------------------------------------------------------------===//
// The rule
//===----------------------------------------------------------------------===//

/// A value and its letters.
struct Term {
  Value value;
  std::string letters;
};

/// Without the dimensions of 1 that broadcast.
Term dropBroadcast(Vjp &vjp, const Term &term, const Equation &equation) {
  Term result;
  SmallVector<int64_t> shape;
  for (auto [letter, dim] :
       llvm::zip(term.letters, onnx::getStaticShape(term.value))) {
    if (dim == 1 && equation.sizes.at(letter) != 1)
      continue;
    shape.push_back(dim);
    result.letters += letter;
  }
  result.value = vjp.reshape(term.value, shape);
  return result;
}

/// Where all dimensions of the letter at `axis` have the same index.
Value diagonal(Vjp &vjp, StringRef own, ArrayRef<int64_t> shape, size_t first,
               size_t axis) {
  auto range = vjp.ints(llvm::to_vector(llvm::seq<int64_t>(0, shape[axis])));
  auto along = [&](size_t place) {
    SmallVector<int64_t> dims(own.size(), 1);
    dims[place] = shape[axis];
    return vjp.reshape(range, dims);
  };
  return vjp.create("Equal", {along(first), along(axis)});
}

/// `term`, which has some letters of `own` once each, in the dimensions that
/// `own` has: those it lacks broadcast, repeated ones are a diagonal.
Value embed(Vjp &vjp, const Term &term, StringRef own,
            ArrayRef<int64_t> shape) {
  SmallVector<int64_t> dims;
  Value mask;
  for (auto [axis, letter] : llvm::enumerate(own)) {
    size_t first = own.find(letter);
    bool present = first == axis && StringRef(term.letters).contains(letter);
    dims.push_back(present ? shape[axis] : 1);
    if (first == axis || shape[axis] == 1)
      continue;
    Value same = diagonal(vjp, own, shape, first, axis);
    mask = mask ? vjp.create("And", {mask, same}) : same;
  }
  Value value = vjp.expand(vjp.reshape(term.value, dims), shape);
  return mask ? vjp.where(mask, value, vjp.scalarLike(0, value)) : value;
}

struct EinsumRule : Rule<EinsumRule, onnx::EinsumOp> {
  LogicalResult build(onnx::EinsumOp op, Vjp &vjp) const {
    Equation equation = parseEquation(op);
    for (unsigned i = 0, end = op->getNumOperands(); i < end; ++i)
      if (vjp.needs(i))
        vjp.setSummed(i, gradient(vjp, i, equation));
    return success();
  }

private:
  static Value gradient(Vjp &vjp, unsigned index, const Equation &equation) {
    // A weight's gradient is not rounded: its product is made of float32.
    bool wide = vjp.isWeight(index);
    auto factor = [&](Value value) { return wide ? vjp.widen(value) : value; };
    SmallVector<Term> terms{{factor(vjp.cotangent(0)), equation.result}};
    for (auto [i, own] : llvm::enumerate(equation.operands))
      if (i != index)
        terms.push_back(
            dropBroadcast(vjp, {factor(vjp.operand(i)), own}, equation));
    StringRef own = equation.operands[index];
    ArrayRef<int64_t> shape = onnx::getStaticShape(vjp.operand(index));
    Term result{Value(), getTarget(terms, own, shape, equation)};
    SmallVector<Value> inputs;
    SmallVector<StringRef> subscripts;
    for (const Term &term : terms) {
      inputs.push_back(term.value);
      subscripts.push_back(term.letters);
    }
    std::string text = llvm::join(subscripts, ",") + "->" + result.letters;
    result.value =
        vjp.create("Einsum", inputs, vjp.attr("equation", StringRef(text)));
    return embed(vjp, result, own, shape);
  }

  /// The letters of `own` that the terms have; what broadcast is summed.
  static std::string getTarget(ArrayRef<Term> terms, StringRef own,
                               ArrayRef<int64_t> shape,
                               const Equation &equation) {
    std::string target;
    for (auto [letter, dim] : llvm::zip(own, shape)) {
      bool found = llvm::any_of(terms, [&, letter = letter](const Term &term) {
        return StringRef(term.letters).contains(letter);
      });
      if (found && dim == equation.sizes.at(letter) &&
          !StringRef(target).contains(letter))
        target += letter;
    }
    return target;
  }
};

} // namespace

void amp::train::attachEinsumRules(MLIRContext *context) {
  onnx::EinsumOp::attachInterface<EinsumRule>(*context);
}
