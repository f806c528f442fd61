//===- Progress.cpp - A line that says how far a compilation is -----------===//
//
// For --progress.
//
//===----------------------------------------------------------------------===//

#include "Progress.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Process.h"
#include <unistd.h>

using namespace amp;

/// To the first column, and the rest of the line away.
static constexpr llvm::StringLiteral clearLine("\r\x1b[K");

/// In one call, past the buffers of diagnostics: those are another thread's.
static void writeToTerminal(llvm::StringRef text) {
  ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
  (void)written;
}

static double getSeconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - since)
      .count();
}

Progress::Progress(llvm::ArrayRef<llvm::StringLiteral> phases)
    : phases(phases), isShown(llvm::sys::Process::StandardErrIsDisplayed()) {
  if (isShown)
    drawer = std::thread([this] { run(); });
}

Progress::~Progress() {
  if (!isShown)
    return;
  {
    std::lock_guard<std::mutex> lock(mutex);
    isDone = true;
  }
  changed.notify_one();
  drawer.join();
  writeToTerminal(clearLine);
}

void Progress::finish(llvm::StringRef phase) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    size_t finished = llvm::find(phases, phase) - phases.begin();
    current = std::min(finished + 1, phases.size() - 1);
    phaseStart = Clock::now();
  }
  changed.notify_one();
}

void Progress::run() {
  std::unique_lock<std::mutex> lock(mutex);
  while (!isDone) {
    draw();
    changed.wait_for(lock, std::chrono::milliseconds(200));
  }
}

/// Ends in the first column, so that a diagnostic writes over it.
void Progress::draw() const {
  std::string bar =
      std::string(current, '#') + std::string(phases.size() - current, '.');
  writeToTerminal(llvm::formatv("{0}compiling [{1}] {2}/{3} {4} {5:F1} s, "
                                "{6:F1} s in all\r",
                                clearLine, bar, current + 1, phases.size(),
                                phases[current], getSeconds(phaseStart),
                                getSeconds(start))
                      .str());
}
