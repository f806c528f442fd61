//===- Einsum.cpp - Decomposition of Einsum -------------------------------===//
//
// Operands are contracted from the left, two at a time, each pair by one
// train.matmul over batch, row and column dimensions.
//
//===----------------------------------------------------------------------===//

#include "Decomposition.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.DEF.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace amp::onnx;

namespace {

/// A value and the label of each of its dimensions. Dimensions under an
/// ellipsis have the labels '0', '1', ... from the back.
struct Labeled {
  Value value;
  std::string labels;

  bool has(char label) const { return StringRef(labels).contains(label); }
  int64_t sizeOf(char label) const {
    return getStaticShape(value)[labels.find(label)];
  }
};

class EinsumBuilder {
public:
  EinsumBuilder(EinsumOp op, Decomposition &d) : op(op), d(d) {}

  LogicalResult build();

private:
  LogicalResult parse();
  std::string expandEllipsis(StringRef labels, size_t dimensions) const;
  Labeled takeDiagonals(Labeled operand);
  Labeled permute(Labeled operand, StringRef labels);
  Labeled sumOut(Labeled operand, StringRef kept);
  Labeled contract(Labeled a, Labeled b, StringRef kept);
  Value flatten(const Labeled &operand, StringRef batch, StringRef rows,
                StringRef columns);

  EinsumOp op;
  Decomposition &d;
  SmallVector<Labeled> operands;
  std::string output;
  size_t ellipsisRank = 0;
};

} // namespace

/// `labels` with the ellipsis, if any, spelled out as `dimensions` labels.
std::string EinsumBuilder::expandEllipsis(StringRef labels,
                                          size_t dimensions) const {
  auto [before, after] = labels.split("...");
  if (!labels.contains("..."))
    return labels.str();
  std::string result = before.str();
  for (size_t i = dimensions; i > 0; --i)
    result += static_cast<char>('0' + i - 1);
  return result + after.str();
}

LogicalResult EinsumBuilder::parse() {
  std::string equation = op.getEquation().str();
  llvm::erase(equation, ' ');
  auto [left, right] = StringRef(equation).split("->");
  SmallVector<StringRef> terms;
  left.split(terms, ',');
  if (terms.size() != d.getNumInputs())
    return d.emitError() << "has " << d.getNumInputs()
                         << " operands, but its equation '" << equation
                         << "' has " << terms.size();
  for (auto [index, term] : llvm::enumerate(terms)) {
    size_t rank = getStaticShape(d.input(index)).size();
    size_t named = term.size() - (term.contains("...") ? 3 : 0);
    if (named > rank || rank - named > 9 ||
        (named < rank && !term.contains("...")))
      return d.emitError() << "has an operand of " << rank
                           << " dimensions for the term '" << term << "'";
    ellipsisRank = std::max(ellipsisRank, rank - named);
    operands.push_back({d.input(index), expandEllipsis(term, rank - named)});
  }
  if (StringRef(equation).contains("->")) {
    output = expandEllipsis(right, ellipsisRank);
    return success();
  }
  // Implicit output: the ellipsis, then labels that occur once, in order.
  output = expandEllipsis("...", ellipsisRank);
  for (char label = 'A'; label <= 'z'; ++label)
    if (llvm::isAlpha(label) && left.count(label) == 1)
      output += label;
  return success();
}

/// Repeated labels of one operand pick its diagonal: of the two dimensions as
/// one, every (n + 1)-th element.
Labeled EinsumBuilder::takeDiagonals(Labeled operand) {
  for (size_t i = 0; i < operand.labels.size(); ++i) {
    size_t j = operand.labels.find(operand.labels[i], i + 1);
    if (j == std::string::npos)
      continue;
    SmallVector<int64_t> order;
    std::string labels;
    for (size_t k = 0; k < operand.labels.size(); ++k)
      if (k != i && k != j) {
        order.push_back(k);
        labels += operand.labels[k];
      }
    int64_t rank = order.size(), n = getStaticShape(operand.value)[i];
    order.append({int64_t(i), int64_t(j)});
    Value value = d.transpose(operand.value, order);
    SmallVector<int64_t> shape(getStaticShape(value).drop_back(2));
    shape.push_back(n * n);
    value = d.slice(d.reshape(value, shape), {0}, {n * n}, {rank}, {n + 1});
    labels += operand.labels[i];
    return takeDiagonals({value, labels});
  }
  return operand;
}

Labeled EinsumBuilder::permute(Labeled operand, StringRef labels) {
  SmallVector<int64_t> order;
  for (char label : labels)
    order.push_back(operand.labels.find(label));
  return {d.transpose(operand.value, order), labels.str()};
}

/// Sums over the labels that are not in `kept`.
Labeled EinsumBuilder::sumOut(Labeled operand, StringRef kept) {
  SmallVector<int64_t> axes;
  std::string labels;
  for (auto [axis, label] : llvm::enumerate(operand.labels))
    if (kept.contains(label))
      labels += label;
    else
      axes.push_back(axis);
  if (axes.empty())
    return operand;
  return {d.reduce("ReduceSum", operand.value, axes, /*keepDims=*/false),
          labels};
}

/// As (batch..., rows, columns), each of the last two one dimension.
Value EinsumBuilder::flatten(const Labeled &operand, StringRef batch,
                             StringRef rows, StringRef columns) {
  std::string order = (batch + rows + columns).str();
  Labeled permuted = permute(operand, order);
  SmallVector<int64_t> shape;
  for (char label : batch)
    shape.push_back(operand.sizeOf(label));
  for (StringRef group : {rows, columns}) {
    int64_t size = 1;
    for (char label : group)
      size *= operand.sizeOf(label);
    shape.push_back(size);
  }
  return d.reshape(permuted.value, shape);
}

/// One product; labels that neither `kept` nor the other operand has are
/// summed before.
Labeled EinsumBuilder::contract(Labeled a, Labeled b, StringRef kept) {
  a = sumOut(a, (kept + b.labels).str());
  b = sumOut(b, (kept + a.labels).str());
  std::string batch, rows, columns, summed;
  for (char label : a.labels)
    if (!b.has(label))
      rows += label;
    else if (kept.contains(label) || a.sizeOf(label) != b.sizeOf(label))
      batch += label;
    else
      summed += label;
  for (char label : b.labels)
    if (!a.has(label))
      columns += label;
  // A batch dimension of 1 broadcasts; its size is that of the other operand.
  SmallVector<int64_t> shape;
  for (char label : batch)
    shape.push_back(std::max(a.sizeOf(label), b.sizeOf(label)));
  for (char label : rows)
    shape.push_back(a.sizeOf(label));
  for (char label : columns)
    shape.push_back(b.sizeOf(label));
  Value product = d.product(flatten(a, batch, rows, summed),
                            flatten(b, batch, summed, columns));
  return {d.reshape(product, shape), batch + rows + columns};
}

LogicalResult EinsumBuilder::build() {
  if (!isa<FloatType>(getElementType(d.input(0))))
    return success();
  if (failed(parse()))
    return failure();
  for (Labeled &operand : operands) {
    // Several products round in between: they are made wide.
    if (operands.size() != 2)
      operand.value = d.widen(operand.value);
    operand = takeDiagonals(operand);
  }
  Labeled result = operands.front();
  for (size_t i = 1; i < operands.size(); ++i) {
    std::string kept = output;
    for (size_t j = i + 1; j < operands.size(); ++j)
      kept += operands[j].labels;
    result = contract(result, operands[i], kept);
  }
  result = sumOut(result, output);
  for (char label : output)
    if (!result.has(label))
      return d.emitError() << "has the label '" << label
                           << "' in its output that no operand has";
  d.set(0, permute(result, output).value);
  return success();
}

static LogicalResult decomposeEinsum(EinsumOp op, Decomposition &d) {
  return EinsumBuilder(op, d).build();
}

void amp::onnx::addEinsumRules(RuleTable &table) { table.add(decomposeEinsum); }
