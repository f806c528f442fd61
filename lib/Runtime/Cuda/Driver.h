//===- Driver.h - The CUDA driver, loaded at run time -----------*- C++ -*-===//
// Private to the runtime.
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_RUNTIME_CUDA_DRIVER_H
#define AMP_LIB_RUNTIME_CUDA_DRIVER_H

#include "amp/Runtime/Cuda/DriverApi.h"
#include "amp/Runtime/Failure.h"

namespace amp::runtime::cuda {

using namespace amp::cuda;

/// The functions of a driver library, and its first device with the primary
/// context retained.
class Driver {
public:
  /// `library`: a path, "emulator", or empty: $AMP_CUDA_DRIVER if that is set,
  /// else libcuda.so.1.
  explicit Driver(const std::string &library);
  ~Driver();
  Driver(const Driver &) = delete;
  Driver &operator=(const Driver &) = delete;

#define AMP_DECLARE(name, parameters) Result(*name) parameters = nullptr;
  AMP_CUDA_FUNCTIONS(AMP_DECLARE)
  AMP_CUDA_OPTIONAL_FUNCTIONS(AMP_DECLARE)
#undef AMP_DECLARE

  /// Fails unless `code` is success; `what` was attempted.
  void check(Result code, const std::string &what) const {
    if (code != result::success)
      reject(code, what);
  }
  [[noreturn]] void reject(Result code, const std::string &what) const;

  Context getContext() const { return context; }
  const std::string &getDeviceName() const { return deviceName; }
  /// 80 for compute capability 8.0.
  int getCapability() const { return capability; }
  int getAttribute(int attribute) const;

private:
  void load(const std::string &library);
  void openDevice();

  void *handle = nullptr;
  std::string library, deviceName;
  Device device = 0;
  Context context = nullptr;
  int capability = 0;
};

/// Makes the driver's context current, and the one that was again at the end.
class ContextScope {
public:
  explicit ContextScope(const Driver &driver);
  ~ContextScope();
  ContextScope(const ContextScope &) = delete;
  ContextScope &operator=(const ContextScope &) = delete;

private:
  const Driver &driver;
  Context before = nullptr;
};

} // namespace amp::runtime::cuda

#endif // AMP_LIB_RUNTIME_CUDA_DRIVER_H
