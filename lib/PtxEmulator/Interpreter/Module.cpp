//===- Module.cpp - PTX text made ready to run ----------------------------===//
// Lays out global and constant variables and decodes every kernel.
//===----------------------------------------------------------------------===//

#include "amp/PtxEmulator/Interpreter/Module.h"
#include "Decoder.h"
#include <cstring>

using namespace amp::ptx;

Kernel::Kernel(std::unique_ptr<Program> program)
    : program(std::move(program)) {}
Kernel::~Kernel() = default;
const std::string &Kernel::getName() const { return program->name; }
const std::vector<Parameter> &Kernel::getParameters() const {
  return program->parameters;
}
uint32_t Kernel::getParameterBytes() const { return program->parameterBytes; }
uint32_t Kernel::getStaticSharedBytes() const { return program->staticShared; }
uint32_t Kernel::getLocalBytes() const { return program->localBytes; }
uint32_t Kernel::getNumRegisters() const { return program->numRegisters; }
std::array<uint32_t, 3> Kernel::getRequiredBlock() const {
  return program->requiredBlock;
}
uint32_t Kernel::getMaxThreads() const { return program->maxThreads; }

struct Module::State {
  explicit State(DeviceMemory &memory) : memory(memory) {}
  ~State() {
    for (uint64_t address : allocations)
      memory.release(address);
  }

  void layOut();
  void placeConstants();
  void placeGlobal(Variable &variable);
  void initialise(const Variable &variable, uint8_t *to);
  void decodeKernels();
  uint64_t getSymbol(const std::string &name, const Variable &user) const;

  DeviceMemory &memory;
  std::shared_ptr<Source> source;
  std::vector<uint64_t> allocations;
  std::vector<uint8_t> constants;
  std::map<std::string, std::unique_ptr<Kernel>, std::less<>> kernels;
};

uint64_t Module::State::getSymbol(const std::string &name,
                                  const Variable &user) const {
  for (const auto &variable : source->variables)
    if (variable->name == name)
      return variable->offset +
             (variable->space == Space::Const ? constWindow : 0);
  throw SyntaxError{0, "initialiser of '" + user.name + "' names '" + name +
                           "', which is no variable"};
}

void Module::State::initialise(const Variable &variable, uint8_t *to) {
  uint32_t bytes = getBytes(variable.type);
  for (const Initialiser &value : variable.values) {
    uint64_t bits = value.bits;
    if (!value.symbol.empty())
      bits += getSymbol(value.symbol, variable);
    std::memcpy(to, &bits, std::min<uint32_t>(bytes, 8));
    to += bytes;
  }
}

/// Memory of the device holds zeros where nothing is written.
void Module::State::placeGlobal(Variable &variable) {
  if (variable.isExtern)
    throw SyntaxError{0, "global variable '" + variable.name +
                             "' is defined elsewhere"};
  uint64_t bytes = std::max<uint64_t>(variable.bytes, 1);
  variable.offset = memory.allocate(bytes);
  if (!variable.offset)
    throw SyntaxError{0, "out of memory for variable '" + variable.name + "'"};
  allocations.push_back(variable.offset);
  std::memset(reinterpret_cast<void *>(variable.offset), 0, bytes);
  memory.markInitialised(variable.offset, bytes);
}

void Module::State::placeConstants() {
  uint64_t end = 0;
  for (auto &variable : source->variables) {
    if (variable->space != Space::Const)
      continue;
    uint64_t mask = variable->alignment - 1;
    variable->offset = (end + mask) & ~mask;
    end = variable->offset + variable->bytes;
    if (end > (1u << 20))
      throw SyntaxError{0, "too much constant memory"};
  }
  constants.assign(end, 0);
}

void Module::State::layOut() {
  placeConstants();
  for (auto &variable : source->variables)
    if (variable->space == Space::Global)
      placeGlobal(*variable);
  for (auto &variable : source->variables) {
    if (variable->space == Space::Global)
      initialise(*variable, reinterpret_cast<uint8_t *>(variable->offset));
    else if (variable->space == Space::Const)
      initialise(*variable, constants.data() + variable->offset);
  }
}

void Module::State::decodeKernels() {
  for (auto &[name, function] : source->functions) {
    if (!function->isKernel || !function->hasBody)
      continue;
    auto program = std::make_unique<Program>();
    Decoder(source, *program).decode(*function);
    program->constBank = constants.data();
    program->constBytes = constants.size();
    kernels[name] = std::make_unique<Kernel>(std::move(program));
  }
}

Module::Module(std::unique_ptr<State> state) : state(std::move(state)) {}
Module::~Module() = default;

std::unique_ptr<Module>
Module::parse(std::string_view text, DeviceMemory &memory, std::string &error) {
  auto state = std::make_unique<State>(memory);
  try {
    state->source = parseSource(text);
    state->layOut();
    state->decodeKernels();
  } catch (const SyntaxError &syntax) {
    error = (syntax.line ? "line " + std::to_string(syntax.line) + ": " : "") +
            syntax.message;
    return nullptr;
  }
  return std::unique_ptr<Module>(new Module(std::move(state)));
}

const Kernel *Module::findKernel(std::string_view name) const {
  auto it = state->kernels.find(name);
  return it == state->kernels.end() ? nullptr : it->second.get();
}

std::vector<const Kernel *> Module::getKernels() const {
  std::vector<const Kernel *> kernels;
  for (const auto &[name, kernel] : state->kernels)
    kernels.push_back(kernel.get());
  return kernels;
}

uint64_t Module::findGlobal(std::string_view name, uint64_t &bytes) const {
  for (const auto &variable : state->source->variables) {
    if (variable->space != Space::Global || variable->name != name)
      continue;
    bytes = variable->bytes;
    return variable->offset;
  }
  return 0;
}
