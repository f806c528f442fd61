//===- amp-run.cpp - Trains and runs compiled steps -----------------------===//
// Dispatches to the commands.
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "amp/Runtime/Failure.h"
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>

using namespace amp::run;
using amp::runtime::Failure;

static int dispatch(const Options &options) {
  if (options.command == "train")
    return runTrain(options);
  if (options.command == "eval")
    return runEval(options);
  if (options.command == "infer")
    return runInfer(options);
  if (options.command == "info")
    return runInfo(options);
  if (options.command == "export-onnx")
    return runExportOnnx(options);
  return runSave(options);
}

int main(int argc, char **argv) {
  // A file that grows too large is then an error like a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  watchMappedFiles();
  if (argc == 2 &&
      (!std::strcmp(argv[1], "--help") || !std::strcmp(argv[1], "-h"))) {
    std::fputs(getUsage(), stdout);
    return 0;
  }
  if (argc == 2 && !std::strcmp(argv[1], "--version")) {
    std::printf("amp-run %s\n", AMP_VERSION);
    return 0;
  }
  try {
    return dispatch(parseOptions(argc, argv));
  } catch (const Failure &failure) {
    std::fprintf(stderr, "amp-run: error: %s\n", failure.what());
  } catch (const std::bad_alloc &) {
    std::fprintf(stderr, "amp-run: error: there is not enough memory\n");
  }
  return 1;
}
