//===- KernelRunner.h - Runs the kernels of one operation -------*- C++ -*-===//
// Compiles what an emitter prints, loads it by ORC and calls it on tensors.
//===----------------------------------------------------------------------===//

#ifndef AMP_UNITTEST_CODEGEN_KERNELRUNNER_H
#define AMP_UNITTEST_CODEGEN_KERNELRUNNER_H

#include "amp/Codegen/Cpu/Backend/Link.h"
#include "amp/Codegen/Cpu/Contraction.h"
#include "amp/Runtime/ThreadPool.h"
#include "mlir/IR/MLIRContext.h"
#include <string>
#include <vector>

namespace amp::cpu {

/// A tensor's bytes, aligned as in the arena, with a guard behind them.
class Buffer {
public:
  explicit Buffer(size_t size);
  Buffer(Buffer &&other) : memory(std::move(other.memory)), size(other.size) {}
  Buffer &operator=(Buffer &&) = default;
  void *data() { return reinterpret_cast<void *>(aligned()); }
  const void *data() const { return reinterpret_cast<void *>(aligned()); }
  size_t bytes() const { return size; }
  /// Whether nothing was written behind the end.
  bool isGuardIntact() const;

private:
  uintptr_t aligned() const {
    return (reinterpret_cast<uintptr_t>(memory.data()) + 63) & ~uintptr_t(63);
  }
  std::vector<unsigned char> memory;
  size_t size;
};

/// Tensors of floats of one type, written from doubles and read as doubles.
Buffer encode(const std::vector<double> &values, const std::string &type);
std::vector<double> decode(const Buffer &buffer, const std::string &type);
/// What `encode` makes of the values.
std::vector<double> roundTo(const std::vector<double> &values,
                            const std::string &type);

/// The kernels of the one operation in a function, whose operands are the
/// function's arguments.
class KernelRunner {
public:
  /// `function` is the text of a module with one function of one operation.
  static std::unique_ptr<KernelRunner>
  create(const std::string &function, const std::string &cpu = "native");

  /// The results, computed with a pool. Scratch is filled with NaN before.
  Buffer run(const std::vector<const Buffer *> &arguments,
             runtime::ThreadPool &pool);

  /// The least seconds of several runs on zeros, in memory that stays.
  double measure(runtime::ThreadPool &pool, int repetitions);

private:
  struct Call {
    void *kernel;
    std::vector<int> operands;
    int64_t iterations, grain;
  };
  mlir::LogicalResult compile(const std::string &function,
                              const std::string &cpu);

  void call(const std::vector<void *> &pointers, runtime::ThreadPool &pool);

  std::unique_ptr<LoadedCode> code;
  std::vector<Call> calls;
  std::vector<int64_t> scratch;
  std::vector<size_t> argumentBytes;
  size_t numArguments = 0, resultBytes = 0;
};

} // namespace amp::cpu

#endif // AMP_UNITTEST_CODEGEN_KERNELRUNNER_H
