//===- Commands.h - What amp-run does ---------------------------*- C++ -*-===//
// One function per command; each returns the exit code.
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_AMPRUN_COMMANDS_H
#define AMP_TOOLS_AMPRUN_COMMANDS_H

#include "Dataset.h"
#include "Options.h"
#include "amp/Runtime/Checkpoint.h"
#include "amp/Runtime/Collectives.h"

namespace amp::run {

/// Opens the artifact and loads --resume or --weights; `extras`, when wanted,
/// are those of the checkpoint.
std::unique_ptr<runtime::Session> openSession(const Options &options,
                                              runtime::Extras *extras);
/// Prints a line to standard error, unless --quiet (warnings always).
void say(const Options &options, const std::string &text);
void warn(const std::string &text);

/// From now on a mapped file that becomes shorter is an error, not a crash.
void watchMappedFiles();

int runTrain(const Options &options);
/// Training of one rank; without `ranks`, of the only one.
int trainRank(const Options &options, runtime::Collectives *ranks);
int runEval(const Options &options);
int runInfer(const Options &options);
int runInfo(const Options &options);
int runExportOnnx(const Options &options);
int runSave(const Options &options);

} // namespace amp::run

#endif // AMP_TOOLS_AMPRUN_COMMANDS_H
