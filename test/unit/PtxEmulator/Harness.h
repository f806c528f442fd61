//===- Harness.h - Running kernels in tests ---------------------*- C++ -*-===//
// A module with its memory; arrays go up and down, arguments are packed.
//===----------------------------------------------------------------------===//

#ifndef AMP_TEST_UNIT_PTXEMULATOR_HARNESS_H
#define AMP_TEST_UNIT_PTXEMULATOR_HARNESS_H

#include "amp/PtxEmulator/Interpreter/Launch.h"
#include <cstring>
#include <gtest/gtest.h>
#include <vector>

namespace amp::ptx {

class Machine {
public:
  explicit Machine(const std::string &text) {
    std::string error;
    module = Module::parse(text, memory, error);
    EXPECT_TRUE(module) << error;
  }

  template <typename T> uint64_t upload(const std::vector<T> &values) {
    uint64_t address = memory.allocate(values.size() * sizeof(T));
    std::memcpy(reinterpret_cast<void *>(address), values.data(),
                values.size() * sizeof(T));
    memory.markInitialised(address, values.size() * sizeof(T));
    return address;
  }
  template <typename T> uint64_t allocate(size_t count) {
    return memory.allocate(count * sizeof(T));
  }
  template <typename T>
  std::vector<T> download(uint64_t address, size_t count) const {
    std::vector<T> values(count);
    std::memcpy(values.data(), reinterpret_cast<const void *>(address),
                count * sizeof(T));
    return values;
  }

  template <typename... Args>
  LaunchReport launch(const std::string &name, Launch geometry, Args... args) {
    const Kernel *kernel = module ? module->findKernel(name) : nullptr;
    EXPECT_TRUE(kernel) << name;
    if (!kernel)
      return {};
    std::vector<uint8_t> packed(kernel->getParameterBytes() + 16);
    size_t i = 0;
    auto pack = [&](const auto &value) {
      ASSERT_LT(i, kernel->getParameters().size());
      const Parameter &parameter = kernel->getParameters()[i++];
      ASSERT_EQ(parameter.bytes, sizeof(value)) << parameter.name;
      std::memcpy(packed.data() + parameter.offset, &value, sizeof(value));
    };
    (pack(args), ...);
    geometry.parameters = packed.data();
    return run(*kernel, geometry, memory);
  }
  /// Launches, and expects that nothing is found.
  template <typename... Args>
  LaunchReport runClean(const std::string &name, Launch geometry,
                        Args... args) {
    LaunchReport report = launch(name, geometry, args...);
    for (const Finding &finding : report.findings)
      ADD_FAILURE() << describe(finding);
    return report;
  }

  DeviceMemory memory;
  std::unique_ptr<Module> module;
};

inline Launch getLaunch(uint32_t grid, uint32_t block, uint32_t shared = 0) {
  Launch launch;
  launch.grid = {grid, 1, 1};
  launch.block = {block, 1, 1};
  launch.dynamicShared = shared;
  launch.seed = 7;
  return launch;
}

/// Whether a finding is of this kind and its text has this part.
inline bool hasFinding(const LaunchReport &report, FindingKind kind,
                       const std::string &part = "") {
  for (const Finding &finding : report.findings)
    if (finding.kind == kind &&
        describe(finding).find(part) != std::string::npos)
      return true;
  return false;
}

/// A module with one kernel of this body; %r, %f, %rd, %p, %h, %fd are there.
inline std::string makeKernel(const std::string &parameters,
                              const std::string &body,
                              const std::string &target = "sm_80",
                              const std::string &globals = "") {
  return ".version 8.0\n.target " + target + "\n.address_size 64\n" + globals +
         "\n.visible .entry test(" + parameters +
         ")\n{\n.reg .pred %p<20>;\n.reg .b16 %h<40>;\n.reg .b32 %r<200>;\n"
         ".reg .f32 %f<300>;\n.reg .b64 %rd<60>;\n.reg .f64 %fd<20>;\n" +
         body + "\nret;\n}\n";
}

} // namespace amp::ptx

#endif // AMP_TEST_UNIT_PTXEMULATOR_HARNESS_H
