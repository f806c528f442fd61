//===- Decoder.cpp - Statements to instructions ---------------------------===//
// Functions, frames, calls and labels. Operands are in DecodeOperands.cpp.
//===----------------------------------------------------------------------===//

#include "Decoder.h"
#include "Control.h"
#include "Move.h"
#include <algorithm>

using namespace amp::ptx;

Modifiers::Modifiers(std::string_view opcode) {
  size_t begin = 0;
  while (begin <= opcode.size()) {
    size_t end = std::min(opcode.find('.', begin), opcode.size());
    parts.push_back(opcode.substr(begin, end - begin));
    begin = end + 1;
  }
  base = parts.front();
  parts.erase(parts.begin());
}

bool Modifiers::has(std::string_view name) const {
  return std::find(parts.begin(), parts.end(), name) != parts.end();
}

bool Modifiers::take(std::string_view name) {
  auto it = std::find(parts.begin(), parts.end(), name);
  if (it == parts.end())
    return false;
  parts.erase(it);
  return true;
}

bool Modifiers::takeAll(std::initializer_list<std::string_view> names) {
  bool all = true;
  for (std::string_view name : names)
    all = take(name) && all;
  return all;
}

Type Modifiers::takeType() {
  for (size_t i = parts.size(); i-- > 0;)
    if (Type type = parseType(parts[i]); type != Type::None) {
      parts.erase(parts.begin() + i);
      return type;
    }
  return Type::None;
}

std::string_view Modifiers::takeFirst() {
  if (parts.empty())
    return "";
  std::string_view first = parts.front();
  parts.erase(parts.begin());
  return first;
}

void Decoder::fail(const std::string &message) const {
  throw SyntaxError{statement ? statement->line : kernel->line, message};
}

void Decoder::failUnknown() const {
  fail("instruction '" + std::string(statement->opcode) +
       "' is not known to the emulator");
}

Inst &Decoder::emit(Handler handler) {
  Inst inst;
  inst.handler = handler;
  inst.line = statement->line;
  inst.list = static_cast<uint32_t>(program.lists.size());
  if (statement->hasGuard) {
    inst.guard = rows.at(statement->guard);
    inst.guardFlip = statement->guardNegated ? allLanes : 0;
  }
  program.code.push_back(inst);
  return program.code.back();
}

void Decoder::addToList(uint32_t row) {
  program.lists.push_back(row);
  ++program.code.back().count;
}

void Decoder::branchTo(std::string_view label) {
  fixups.push_back({program.code.size() - 1, false, label, statement->scope,
                    statement->line});
}

void Decoder::addListLabel(std::string_view label) {
  addToList(0);
  fixups.push_back({program.lists.size() - 1, true, label, statement->scope,
                    statement->line});
}

/// Labels of enclosing blocks are seen, the innermost first.
template <typename Map>
static const typename Map::mapped_type *
findInScopes(const Map &map, const Function &function, std::string_view name,
             uint32_t scope) {
  while (true) {
    auto it = map.find({name, scope});
    if (it != map.end())
      return &it->second;
    if (scope == 0)
      return nullptr;
    scope = function.scopes[scope];
  }
}

const std::vector<std::string_view> *
Decoder::findTable(std::string_view name) const {
  return findInScopes(function->tables, *function, name, statement->scope);
}

const Function *Decoder::findFunction(std::string_view name) const {
  auto it = source->functions.find(name);
  return it == source->functions.end() ? nullptr : it->second.get();
}

void Decoder::callFunction(const Function &callee) {
  calls.push_back({program.code.size() - 1, &callee});
}

/// Registers exist once per function and not once per call.
void Decoder::collect(const Function &function_) {
  callStack.push_back(&function_);
  for (const Statement &call : function_.body)
    for (const Operand &operand : call.operands) {
      noteShared(operand);
      if (operand.kind != OperandKind::Symbol ||
          call.opcode.substr(0, 4) != "call")
        continue;
      const Function *callee = findFunction(operand.name);
      if (!callee || !callee->hasBody)
        continue;
      if (std::find(callStack.begin(), callStack.end(), callee) !=
          callStack.end())
        throw SyntaxError{call.line, "call of '" + callee->name +
                                         "' is recursive, which is not "
                                         "emulated"};
      if (std::find(functions.begin(), functions.end(), callee) ==
          functions.end()) {
        functions.push_back(callee);
        collect(*callee);
      }
    }
  callStack.pop_back();
}

/// Shared variables that the kernel names get room in it.
void Decoder::noteShared(const Operand &operand) {
  if (operand.variable && operand.variable->space == Space::Shared)
    sharedVariables.insert(operand.variable);
  for (const Operand &item : operand.items)
    noteShared(item);
}

static uint64_t alignTo(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

/// Variables in the order of the module, then what the launch adds.
void Decoder::layOutShared() {
  uint64_t end = 0, dynamicAlignment = 16;
  for (const auto &variable : source->variables) {
    if (!sharedVariables.count(variable.get()))
      continue;
    if (variable->isExtern) {
      dynamicAlignment =
          std::max<uint64_t>(dynamicAlignment, variable->alignment);
      continue;
    }
    end = alignTo(end, variable->alignment);
    frame[variable.get()] = end;
    end += variable->bytes;
  }
  bool isDynamic = false;
  for (const Variable *variable : sharedVariables)
    isDynamic |= variable->isExtern;
  end = isDynamic ? alignTo(end, dynamicAlignment) : end;
  for (const Variable *variable : sharedVariables)
    if (variable->isExtern)
      frame[variable] = end;
  if (end > (1u << 24))
    fail("kernel '" + kernel->name + "' has too much shared memory");
  program.staticShared = static_cast<uint32_t>(end);
}

/// Local variables, parameters of calls, and those of the function itself
/// unless it is the kernel.
void Decoder::layOutFrame(const Function &function_) {
  auto place = [&](const std::vector<std::unique_ptr<Variable>> &variables) {
    for (const auto &variable : variables) {
      uint64_t at = alignTo(program.localBytes,
                            std::max<uint32_t>(variable->alignment, 8));
      frame[variable.get()] = at;
      if (at + variable->bytes > (1u << 24))
        throw SyntaxError{function_.line, "function '" + function_.name +
                                              "' has too much local memory"};
      program.localBytes = static_cast<uint32_t>(at + variable->bytes);
    }
  };
  place(function_.locals);
  if (function_.isKernel)
    return;
  place(function_.results);
  place(function_.parameters);
}

void Decoder::decode(const Function &kernel_) {
  kernel = &kernel_;
  program.name = kernel_.name;
  program.source = source;
  functions.push_back(kernel);
  collect(kernel_);
  layOutShared();
  for (const Function *each : functions)
    layOutFrame(*each);
  program.localBytes = static_cast<uint32_t>(alignTo(program.localBytes, 16));
  for (const auto &parameter : kernel_.parameters) {
    program.parameters.push_back({parameter->name,
                                  static_cast<uint32_t>(parameter->offset),
                                  static_cast<uint32_t>(parameter->bytes)});
    program.parameterBytes =
        static_cast<uint32_t>(parameter->offset + parameter->bytes);
  }
  std::copy(kernel_.requiredBlock, kernel_.requiredBlock + 3,
            program.requiredBlock.begin());
  if (kernel_.maxThreads)
    program.maxThreads = kernel_.maxThreads;
  for (const Function *each : functions)
    decodeFunction(*each);
  for (auto &[index, callee] : calls)
    program.code[index].target = entries.at(callee);
}

void Decoder::decodeFunction(const Function &function_) {
  function = &function_;
  rows.clear();
  fixups.clear();
  entries[function] = static_cast<int32_t>(program.code.size());
  std::vector<int32_t> starts;
  for (const Statement &each : function_.body) {
    starts.push_back(static_cast<int32_t>(program.code.size()));
    decodeStatement(each);
  }
  starts.push_back(static_cast<int32_t>(program.code.size()));
  Statement end;
  end.line =
      function_.body.empty() ? function_.line : function_.body.back().line;
  statement = &end;
  emit(function_.isKernel ? handleExit : handleReturn);
  resolveFixups(starts);
  statement = nullptr;
}

void Decoder::resolveFixups(const std::vector<int32_t> &starts) {
  for (const Fixup &fixup : fixups) {
    const size_t *index =
        findInScopes(function->labels, *function, fixup.label, fixup.scope);
    if (!index)
      throw SyntaxError{fixup.line, "label '" + std::string(fixup.label) +
                                        "' is not defined"};
    int32_t target = starts[*index];
    if (fixup.inList)
      program.lists[fixup.index] = static_cast<uint32_t>(target);
    else
      program.code[fixup.index].target = target;
  }
}

void Decoder::decodeStatement(const Statement &each) {
  statement = &each;
  if (each.hasGuard) // so that emit finds it
    registerRow(each.guard);
  modifiers = Modifiers(each.opcode);
  DecodeFunction decodeOne = findDecodeFunction(modifiers.getBase());
  if (!decodeOne)
    failUnknown();
  decodeOne(*this);
  for (const Extension &extension : extensions) {
    Inst &inst = emit(getResizeHandler(
        extension.toBytes, getBytes(extension.type), isSigned(extension.type)));
    inst.d[0] = extension.to;
    inst.s[0] = extension.from;
  }
  extensions.clear();
}
