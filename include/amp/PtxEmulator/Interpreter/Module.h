//===- Module.h - PTX text made ready to run --------------------*- C++ -*-===//
// Parses a PTX module; an opcode that is not known is an error.
//===----------------------------------------------------------------------===//

#ifndef AMP_PTXEMULATOR_INTERPRETER_MODULE_H
#define AMP_PTXEMULATOR_INTERPRETER_MODULE_H

#include "amp/PtxEmulator/Interpreter/DeviceMemory.h"
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace amp::ptx {

struct Program;

/// Where a parameter lies in the buffer a launch passes.
struct Parameter {
  std::string name;
  uint32_t offset, bytes;
};

/// An entry of a module.
class Kernel {
public:
  explicit Kernel(std::unique_ptr<Program> program);
  ~Kernel();

  const std::string &getName() const;
  const std::vector<Parameter> &getParameters() const;
  uint32_t getParameterBytes() const;
  uint32_t getStaticSharedBytes() const;
  uint32_t getLocalBytes() const;
  /// Virtual registers of 32 bits, for information.
  uint32_t getNumRegisters() const;
  /// What `.reqntid` demands of the block; zeros where nothing is demanded.
  std::array<uint32_t, 3> getRequiredBlock() const;
  /// Threads a block may have by `.reqntid` or `.maxntid`, else 1024.
  uint32_t getMaxThreads() const;
  const Program &getProgram() const { return *program; }

private:
  std::unique_ptr<Program> program;
};

/// A parsed module; its global variables live in `memory` as long as it does.
class Module {
public:
  /// Null, with `error` naming the line and what is wrong, if the text does not
  /// parse or uses what the interpreter does not know.
  static std::unique_ptr<Module>
  parse(std::string_view text, DeviceMemory &memory, std::string &error);
  ~Module();

  /// Null if there is none of that name.
  const Kernel *findKernel(std::string_view name) const;
  std::vector<const Kernel *> getKernels() const;
  /// Address and size of a `.global` variable; 0 if there is none.
  uint64_t findGlobal(std::string_view name, uint64_t &bytes) const;

private:
  struct State;
  explicit Module(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

} // namespace amp::ptx

#endif // AMP_PTXEMULATOR_INTERPRETER_MODULE_H
