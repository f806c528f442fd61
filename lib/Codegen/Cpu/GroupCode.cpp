//===- GroupCode.cpp - What the printers of fused groups share ------------===//
//
// Collects a group's buffers and accesses; prints operations at a point.
//
//===----------------------------------------------------------------------===//

#include "GroupCode.h"
#include "amp/Dialect/Onnx/IR/OnnxDialect.h"
#include "llvm/Support/raw_ostream.h"
#include <numeric>

using namespace mlir;
using namespace amp;
using namespace amp::cpu;

GroupCode::GroupCode(const plan::Group &group, ArrayRef<int64_t> kinds,
                     StorageOf storageOf)
    : group(group), storageOf(storageOf) {
  for (Operation *op : group.ops)
    for (Value operand : plan::getDataOperands(op))
      addOperand(op, operand);
  for (Value output : group.outputs)
    useOf[{output.getDefiningOp(), output}] =
        addUse(output.getDefiningOp(), output);
  SmallVector<plan::Access *> accesses;
  for (Use &use : uses)
    accesses.push_back(&use.access);
  space = plan::collapse(group.space, kinds, accesses);
  // Rows have a loop of columns, and every group one that lanes run along.
  bool isRows = group.kind == plan::GroupKind::Rows;
  if (!space.sizes.empty() && (!isRows || space.kinds.back() == innerKind))
    return;
  space.sizes.push_back(1);
  space.kinds.push_back(isRows ? innerKind : 0);
  for (Use &use : uses)
    use.access.strides.push_back(0);
}

void GroupCode::addOperand(Operation *op, Value operand) {
  if (group.getProducer(operand) || useOf.count({op, operand}))
    return;
  auto splat = dyn_cast_or_null<SplatElementsAttr>(
      onnx::getConstantValue(plan::stripViews(operand)));
  if (splat) {
    splats[operand] = splat.getSplatValue<Attribute>();
    return;
  }
  useOf[{op, operand}] = addUse(op, operand);
}

/// The use of `value`; equal ones are one.
unsigned GroupCode::addUse(Operation *op, Value value) {
  Value root = plan::stripViews(value);
  auto [entry, isNew] =
      bufferOfStorage.insert({storageOf(root), operands.size()});
  if (isNew)
    operands.push_back(root);
  Use use{entry->second, getElementTypeOrSelf(value.getType()),
          plan::getAccess(group, op, value)};
  for (auto [index, other] : llvm::enumerate(uses))
    if (other.buffer == use.buffer && other.elementType == use.elementType &&
        other.access == use.access)
      return index;
  uses.push_back(use);
  return uses.size() - 1;
}

int64_t GroupCode::getWidestBytes() const {
  int64_t bytes = 0;
  for (const Use &use : uses)
    if (use.access.strides.back() == 1)
      bytes = std::max(bytes, getStorageBytes(use.elementType));
  return bytes ? bytes : 4;
}

int64_t GroupCode::countSequences() const {
  return llvm::count_if(
      uses, [](const Use &use) { return use.access.strides.back() != 0; });
}

//===----------------------------------------------------------------------===//
// Key and name
//===----------------------------------------------------------------------===//

/// Attributes that are no names.
static void printAttributes(raw_ostream &os, Operation *op) {
  for (NamedAttribute attribute : op->getAttrs())
    if (!attribute.getName().strref().starts_with("onnx."))
      os << ' ' << attribute.getName().strref() << '=' << attribute.getValue();
}

std::string GroupCode::getKey(StringRef printer) const {
  std::string key;
  llvm::raw_string_ostream os(key);
  auto numbers = [&](ArrayRef<int64_t> values) {
    llvm::interleave(values, os, ",");
  };
  os << printer << ' ' << group.numInner << " [";
  numbers(space.sizes);
  os << "][";
  numbers(space.kinds);
  os << "]\n";
  for (const Use &use : uses) {
    os << use.buffer << ' ' << use.elementType << ' ' << use.access.offset
       << '[';
    numbers(use.access.strides);
    os << "]\n";
  }
  for (Operation *op : group.ops) {
    os << op->getName();
    printAttributes(os, op);
    for (Value operand : plan::getDataOperands(op)) {
      os << ' ';
      if (Operation *producer = group.getProducer(operand))
        os << 'm' << llvm::find(group.ops, producer) - group.ops.begin();
      else if (auto use = useOf.find({op, operand}); use != useOf.end())
        os << 'u' << use->second;
      else
        os << splats.lookup(operand);
    }
    os << " : " << getElementTypeOrSelf(op->getResult(0).getType());
    if (auto reduction = plan::getReduction(op))
      os << " x" << plan::getNumElements(plan::getShape(op->getOperand(0)));
    os << '[';
    llvm::interleave(group.dims.find(op)->second, os, ",");
    os << "]\n";
  }
  for (Value output : group.outputs)
    os << '>' << useOf.lookup({output.getDefiningOp(), output}) << ' '
       << llvm::find(group.ops, output.getDefiningOp()) - group.ops.begin();
  return key;
}

std::string GroupCode::getName() const {
  std::string name;
  for (Operation *op : ArrayRef(group.ops).take_front(3)) {
    StringRef operation = op->getName().stripDialect();
    name += (name.empty() ? "" : "_") + operation.lower();
  }
  return name + (group.ops.size() > 3 ? "_etc" : "");
}

KernelCall GroupCode::makeCall(KernelModule &kernels, StringRef printer,
                               int64_t iterations, int64_t grain,
                               KernelModule::Body body) const {
  func::FuncOp kernel =
      kernels.getOrCreate(getKey(printer), getName(), operands.size(), body);
  return {kernel, operands, iterations, grain};
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

/// The address of `use` at `point`.
static Value getAddress(Emitter &e, const plan::Access &access,
                        ArrayRef<Value> point) {
  return emitAddress(e, point, access.strides, access.offset);
}

/// Bytes that vectors of `use` are aligned to, for an emitter that asks.
int64_t GroupCode::getAlignment(Emitter &e, const Use &use) {
  int64_t common = use.access.offset;
  for (int64_t stride : ArrayRef(use.access.strides).drop_back())
    common = std::gcd(common, stride);
  return e.getVectorAlignment(use.elementType, common);
}

Value GroupCode::load(Emitter &e, const Use &use, ArrayRef<Value> point) {
  Value buffer = buffers[use.buffer],
        address = getAddress(e, use.access, point);
  int64_t stride = use.access.strides.empty() ? 0 : use.access.strides.back();
  if (!e.vector() || stride == 0)
    return e.loadScalar(buffer, address, use.elementType);
  return stride == 1
             ? e.load(buffer, address, use.elementType, getAlignment(e, use))
             : e.gather(buffer, address, stride, use.elementType);
}

/// A splat's element in compute type.
static Value emitNumber(Emitter &e, Attribute element) {
  Type type = cast<TypedAttr>(element).getType();
  if (auto number = dyn_cast<FloatAttr>(element)) {
    APFloat value = number.getValue();
    bool lossy;
    auto compute = cast<FloatType>(getComputeType(type));
    value.convert(compute.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                  &lossy);
    return arith::ConstantOp::create(e.b(), FloatAttr::get(compute, value));
  }
  APInt value = cast<IntegerAttr>(element).getValue();
  return arith::ConstantOp::create(
      e.b(), IntegerAttr::get(getComputeType(type), value));
}

Value GroupCode::getOperand(Emitter &e, Operation *op, Value operand,
                            ArrayRef<Value> point, PointValues &values) {
  if (group.getProducer(operand))
    return values.members.lookup(plan::stripViews(operand));
  auto splat = splats.find(operand);
  if (splat != splats.end())
    return emitNumber(e, splat->second);
  unsigned index = useOf.find({op, operand})->second;
  Value &loaded = values.loads[index];
  if (!loaded)
    loaded = load(e, uses[index], point);
  return loaded;
}

void GroupCode::emitOp(Emitter &e, Operation *op, ArrayRef<Value> point,
                       PointValues &values) {
  SmallVector<Value> inputs;
  for (Value operand : op->getOperands())
    inputs.push_back(getOperand(e, op, operand, point, values));
  values.members[op->getResult(0)] = emitElementwise(e, op, inputs);
}

void GroupCode::storeOutput(Emitter &e, Value output, Value value,
                            ArrayRef<Value> point) {
  const Use &use = uses[useOf.find({output.getDefiningOp(), output})->second];
  e.store(value, buffers[use.buffer], getAddress(e, use.access, point),
          use.elementType, getAlignment(e, use));
}

Value GroupCode::loadOutput(Emitter &e, Value output, ArrayRef<Value> point) {
  return load(e, uses[useOf.find({output.getDefiningOp(), output})->second],
              point);
}
