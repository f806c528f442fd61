//===- Control.cpp - bra, brx, call, ret, trap ----------------------------===//
// Handlers say where lanes go; runWarp moves them.
//===----------------------------------------------------------------------===//

#include "Control.h"
#include "Decoder.h"
#include "Machine.h"
#include <algorithm>
#include <cstring>

using namespace amp::ptx;

void amp::ptx::handleExit(Context &context, const Inst &) {
  context.event = Event::Exit;
}

void amp::ptx::handleReturn(Context &context, const Inst &) {
  context.event = Event::Return;
}

static void branch(Context &context, const Inst &inst) {
  context.event = Event::Branch;
  context.target = inst.target;
}

static void call(Context &context, const Inst &inst) {
  context.event = Event::Call;
  context.target = inst.target;
}

static void nothing(Context &, const Inst &) {}

static void trap(Context &context, const Inst &inst) {
  context.report(inst, FindingKind::Trap, context.getFirstLane(), 0,
                 "the kernel trapped");
  context.event = Event::Exit;
}

/// Lanes go where the table at their index says.
static void branchByIndex(Context &context, const Inst &inst) {
  const uint32_t *index = context.row<uint32_t>(inst.s[0]);
  context.splits.clear();
  for (unsigned lane = 0; lane < numLanes; ++lane) {
    if (!context.isActive(lane))
      continue;
    if (index[lane] >= inst.count) {
      context.report(inst, FindingKind::OutOfBounds, lane, index[lane],
                     "branch index is outside the table");
      continue;
    }
    int32_t target =
        static_cast<int32_t>(context.lists()[inst.list + index[lane]]);
    auto it = std::find_if(context.splits.begin(), context.splits.end(),
                           [=](auto &split) { return split.first == target; });
    if (it == context.splits.end())
      it = context.splits.insert(it, {target, 0});
    it->second |= uint32_t(1) << lane;
  }
  context.event = Event::Split;
}

/// Copies `count` bytes of each lane's frame from s[0] to d[0].
static void copyFrame(Context &context, const Inst &inst) {
  uint8_t *local = context.warp->local.data();
  for (unsigned lane = 0; lane < numLanes; ++lane) {
    if (!context.isActive(lane))
      continue;
    uint8_t *frame = local + size_t(lane) * context.program->localBytes;
    std::memcpy(frame + inst.d[0], frame + inst.s[0],
                static_cast<size_t>(inst.imm));
  }
}

static void
emitFrameCopies(Decoder &decoder, const std::vector<Operand> &arguments,
                const std::vector<std::unique_ptr<Variable>> &formal,
                bool toCallee) {
  if (arguments.size() != formal.size())
    decoder.fail("call has " + std::to_string(arguments.size()) +
                 " arguments where " + std::to_string(formal.size()) +
                 " are expected");
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Variable *actual = arguments[i].variable;
    if (!actual || actual->space != Space::Param ||
        decoder.getKernelParameter(arguments[i]) ||
        actual->bytes != formal[i]->bytes)
      decoder.fail("argument " + std::to_string(i) +
                   " of the call is no .param variable of the right size");
    uint32_t outer = static_cast<uint32_t>(decoder.getAddress(*actual));
    uint32_t inner = static_cast<uint32_t>(decoder.getAddress(*formal[i]));
    Inst &inst = decoder.emit(copyFrame);
    inst.s[0] = toCallee ? outer : inner;
    inst.d[0] = toCallee ? inner : outer;
    inst.imm = static_cast<int64_t>(actual->bytes);
  }
}

static void decodeCall(Decoder &decoder) {
  decoder.modifiers.take("uni");
  decoder.expectOperands(1, 3);
  size_t at = 0;
  static const std::vector<Operand> none;
  auto takeList = [&]() -> const std::vector<Operand> & {
    if (at < decoder.getNumOperands() &&
        decoder.operand(at).kind == OperandKind::List)
      return decoder.operand(at++).items;
    return none;
  };
  const std::vector<Operand> &results = takeList();
  std::string name(decoder.operand(at++).name);
  const std::vector<Operand> &arguments = takeList();
  const Function *callee = decoder.findFunction(name);
  if (!callee)
    decoder.fail("call of '" + name + "', which is no function of the module");
  if (name == "__assertfail") {
    decoder.emit(trap);
    return;
  }
  if (!callee->hasBody)
    decoder.fail("call of '" + name + "', which has no body");
  emitFrameCopies(decoder, arguments, callee->parameters, true);
  decoder.emit(call);
  decoder.callFunction(*callee);
  emitFrameCopies(decoder, results, callee->results, false);
}

static void decodeIndexedBranch(Decoder &decoder) {
  decoder.modifiers.take("uni");
  if (!decoder.modifiers.take("idx"))
    decoder.failUnknown();
  decoder.expectOperands(2, 2);
  uint32_t index = decoder.sourceRow(size_t(0), Type::U32);
  std::string_view name = decoder.operand(1).name;
  const std::vector<std::string_view> *table = decoder.findTable(name);
  if (!table)
    decoder.fail("'" + std::string(name) + "' is no .branchtargets list");
  if (table->size() > UINT16_MAX)
    decoder.fail("'" + std::string(name) + "' has too many targets");
  decoder.emit(branchByIndex).s[0] = index;
  for (std::string_view label : *table)
    decoder.addListLabel(label);
}

void amp::ptx::decodeControl(Decoder &decoder) {
  std::string_view base = decoder.modifiers.getBase();
  if (base == "call")
    return decodeCall(decoder);
  if (base == "brx")
    return decodeIndexedBranch(decoder);
  decoder.modifiers.take("uni");
  if (base == "bra") {
    decoder.expectOperands(1, 1);
    if (decoder.operand(0).kind != OperandKind::Symbol)
      decoder.fail("branch to what is no label");
    decoder.emit(branch);
    decoder.branchTo(decoder.operand(0).name);
    return;
  }
  if (base == "nanosleep") {
    decoder.modifiers.takeType();
    decoder.expectOperands(1, 1);
    decoder.emit(nothing);
    return;
  }
  decoder.expectOperands(0, 0);
  if (base == "ret")
    decoder.emit(decoder.isInKernel() ? handleExit : handleReturn);
  else if (base == "exit")
    decoder.emit(handleExit);
  else
    decoder.emit(trap);
}

/// Hints and other instructions without effect here.
void amp::ptx::decodeNothing(Decoder &decoder) { decoder.emit(nothing); }
