//===- CudaRunner.h - Runs specialised kernels on the emulator --*- C++ -*-===//
// Compiles the kernels of a function to PTX, interprets it, and tells what the
// interpreter found and counted. `ptxas` looks at the same text.
//===----------------------------------------------------------------------===//

#ifndef AMP_UNITTEST_CODEGEN_CUDARUNNER_H
#define AMP_UNITTEST_CODEGEN_CUDARUNNER_H

#include "Codegen/Cuda/Kernels/Product.h"
#include "amp/Codegen/Cuda/Backend/PtxCompiler.h"
#include "amp/PtxEmulator/Interpreter/Launch.h"
#include <map>
#include <string>
#include <vector>

namespace amp::cuda {

/// Elements of one type, as doubles.
std::vector<double> roundTo(const std::vector<double> &values,
                            const std::string &type);
double getEpsilon(const std::string &type);
/// Normally distributed numbers that `type` holds.
std::vector<double> random(int64_t count, unsigned seed,
                           const std::string &type);
/// Whether both are NaN, or they differ by at most `tolerance`.
bool agree(double x, double y, double tolerance);

struct CudaResults {
  /// Of the function's results, in order.
  std::vector<std::vector<double>> values;
  std::vector<ptx::Finding> findings;
  ptx::Counters counters;
  std::vector<ptx::LineCounters> lines;
};

/// What `ptxas -v` said of one kernel, and what its code consists of.
struct AssembledKernel {
  std::string log;
  int64_t registers = 0, spillBytes = 0;
  bool isSerialized = false; ///< A C75xx warning.
  /// How often each opcode (low 12 bits of an instruction) occurs.
  std::map<unsigned, int64_t> opcodes;
};

class CudaRunner {
public:
  /// The kernels of all operations of the one function in `text`. All of its
  /// groups have specialised kernels, or the runner is null and the test fails.
  static std::unique_ptr<CudaRunner> create(const std::string &text,
                                            const ProductOptions &options = {});

  CudaResults run(const std::vector<std::vector<double>> &arguments);

  struct Step {
    std::string kernel;
    std::vector<int> buffers;
    std::array<int64_t, 3> grid, block;
    int64_t sharedBytes;
  };
  const std::vector<Step> &getSteps() const { return steps; }
  const std::vector<PtxKernel> &getPtx() const { return ptx; }

private:
  mlir::LogicalResult compile(const std::string &text,
                              const ProductOptions &options);
  int addBuffer(int64_t elements, const std::string &type);

  struct BufferInfo {
    int64_t elements;
    std::string type;
  };
  std::vector<BufferInfo> buffers;
  std::vector<int> argumentBuffers, resultBuffers;
  std::vector<Step> steps;
  std::vector<PtxKernel> ptx;
};

/// Assembles for `chip`; nothing where there is no `ptxas`.
std::optional<AssembledKernel> assemble(const PtxKernel &kernel,
                                        const std::string &chip);

} // namespace amp::cuda

#endif // AMP_UNITTEST_CODEGEN_CUDARUNNER_H
