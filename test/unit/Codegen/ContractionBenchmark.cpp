//===- ContractionBenchmark.cpp - How fast the contraction kernels are ----===//
// For benchmarks/gemm: reads functions of one operation from standard input,
// one a line as "<threads> <repetitions> <function>", prints for each the least
// seconds of a run.
//===----------------------------------------------------------------------===//

#include "KernelRunner.h"
#include <chrono>
#include <iostream>

using namespace amp::cpu;

int main() {
  unsigned threads;
  int repetitions;
  std::string function;
  while (std::cin >> threads >> repetitions &&
         std::getline(std::cin, function)) {
    auto runner = KernelRunner::create(function);
    if (!runner)
      return 1;
    amp::runtime::ThreadPool pool(threads);
    std::cout << runner->measure(pool, repetitions) << std::endl;
  }
  return 0;
}
