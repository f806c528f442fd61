//===- Options.h - The command line of amp-run ------------------*- C++ -*-===//
// Parses `amp-run <command> <artifact> [options]`.
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_AMPRUN_OPTIONS_H
#define AMP_TOOLS_AMPRUN_OPTIONS_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace amp::run {

/// What to do with rows that do not fill a batch.
enum class LastBatch { Drop, Wrap };

struct Options {
  std::string command, artifact;
  std::vector<std::string> data;
  std::optional<int64_t> epochs, steps, saveEvery;
  std::optional<int64_t> seed;
  bool noShuffle = false;
  LastBatch lastBatch = LastBatch::Drop;
  std::string log, save, resume, weights, plot, output, model, layout;
  /// Of artifacts for CUDA: the driver library; empty: the system's.
  std::string cudaDriver;
  std::optional<double> lr;
  unsigned threads = 0;
  /// Ranks that are threads of this process.
  std::optional<int64_t> ranks;
  /// Seconds one rank waits for the others.
  int64_t rankTimeOut = 300;
  bool allowMissing = false, cast = false, anyFingerprint = false;
  bool quiet = false, json = false;
};

/// Fails with what is wrong and how it is spelled.
Options parseOptions(int argc, char **argv);
/// The text of --help.
const char *getUsage();

} // namespace amp::run

#endif // AMP_TOOLS_AMPRUN_OPTIONS_H
