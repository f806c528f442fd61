//===- Compile.cpp - The compiler as Python calls it ----------------------===//
//
// The calling thread waits and looks for signals; the compilation ends at its
// next step when there is one.
//
//===----------------------------------------------------------------------===//

#include "Compile.h"
#include "Module.h"
#include "amp/Compiler/Compiler.h"
#include "mlir/IR/Action.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/xxhash.h"
#include <condition_variable>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <thread>

using namespace mlir;
using namespace amp::python;
namespace nb = nanobind;

namespace {

/// How long a signal waits to be noticed.
constexpr std::chrono::milliseconds pollInterval(20);

/// Runs `work` on another thread. Throws what a signal handler of Python raises
/// meanwhile, once the work, which sees `cancelled`, has ended.
class Waiter {
public:
  template <typename Work> void run(Work work) {
    std::thread thread([&] {
      work();
      std::lock_guard<std::mutex> lock(mutex);
      isDone = true;
      done.notify_all();
    });
    while (!wait())
      if (PyErr_CheckSignals() != 0) {
        cancelled = true;
        nb::python_error raised;
        join(thread);
        throw raised;
      }
    join(thread);
  }

  std::atomic<bool> cancelled = false;

private:
  bool wait() {
    nb::gil_scoped_release unlocked;
    std::unique_lock<std::mutex> lock(mutex);
    return done.wait_for(lock, pollInterval, [this] { return isDone; });
  }
  static void join(std::thread &thread) {
    nb::gil_scoped_release unlocked;
    thread.join();
  }

  std::mutex mutex;
  std::condition_variable done;
  bool isDone = false;
};

/// Leaves passes out as soon as `cancelled` is true.
class PassSkipper {
public:
  PassSkipper(MLIRContext *context, const std::atomic<bool> &cancelled)
      : context(context) {
    context->registerActionHandler(
        [&](llvm::function_ref<void()> pass, const tracing::Action &) {
          if (!cancelled)
            pass();
        });
  }
  ~PassSkipper() { context->registerActionHandler(nullptr); }

private:
  MLIRContext *context;
};

void compile(const Module &module, const std::string &output,
             const std::string &training, bool inference,
             const std::string &autocast, const std::vector<std::string> &bind,
             const std::string &target, const std::string &cpu,
             const std::string &report, unsigned threads) {
  Waiter waiter;
  std::string problems;
  llvm::raw_string_ostream errors(problems);
  amp::CompileOptions options;
  options.model = module.getSource();
  options.output = output;
  options.training = training;
  options.inference = inference;
  options.autocast = autocast;
  options.bind = bind;
  options.target = target;
  options.cpu = cpu;
  options.reportFile = report;
  options.threads = threads;
  options.errors = &errors;
  options.cancelled = &waiter.cancelled;
  MLIRContext *context = module.getContext();
  Diagnostics diagnostics(context);
  LogicalResult result = failure();
  {
    PassSkipper skipper(context, waiter.cancelled);
    waiter.run([&] {
      result = amp::compileModel(OwningOpRef(module.get().clone()), options);
    });
  }
  diagnostics.check(result, StringRef(problems).trim());
  diagnostics.warn();
}

/// Adds the bytes of all resources below `op`, in program order.
void hashResources(Operation *op, llvm::SHA256 &hash) {
  AttrTypeWalker walker;
  walker.addWalk([&](DenseResourceElementsAttr attribute) {
    AsmResourceBlob *blob = attribute.getRawHandle().getBlob();
    if (!blob)
      return;
    ArrayRef<char> bytes = blob->getData();
    llvm::XXH128_hash_t digest = llvm::xxh3_128bits(ArrayRef(
        reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()));
    uint64_t words[] = {digest.low64, digest.high64, bytes.size()};
    hash.update(ArrayRef(reinterpret_cast<uint8_t *>(words), sizeof(words)));
  });
  op->walk<WalkOrder::PreOrder>(
      [&](Operation *inner) { walker.walk(inner->getAttrDictionary()); });
}

/// What decides the result of a compilation of the module, as hexadecimal
/// digits: its graph, its tensors, and `options`.
std::string getDigest(const Module &module, const std::string &options) {
  nb::gil_scoped_release unlocked;
  llvm::SHA256 hash;
  std::string text;
  llvm::raw_string_ostream os(text);
  module.get()->print(os, OpPrintingFlags().elideLargeResourceString(0));
  hash.update(StringRef(AMP_VERSION));
  hash.update(StringRef(text));
  hash.update(StringRef(options));
  hashResources(module.get(), hash);
  return llvm::toHex(hash.final(), /*LowerCase=*/true);
}

} // namespace

void amp::python::bindCompile(nb::module_ &module) {
  module.def(
      "compile", &compile, nb::arg("module"), nb::arg("output"), nb::kw_only(),
      nb::arg("training") = "", nb::arg("inference") = false,
      nb::arg("autocast") = "", nb::arg("bind") = std::vector<std::string>(),
      nb::arg("target") = "cpu", nb::arg("cpu") = "native",
      nb::arg("report") = "", nb::arg("threads") = 0,
      "What amp-compile does, for a module in memory: writes the artifact "
      "`output`. `training` is train.json, as text or path. Signals are "
      "noticed; the module is not changed. Raises Error.");
  module.def("digest", &getDigest, nb::arg("module"), nb::arg("options") = "",
             "A hash of everything that decides what compiling the module "
             "with these options gives.");
}
