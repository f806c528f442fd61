//===- Progress.h - A line that says how far a compilation is -------------===//
//
// Private to this library.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_COMPILER_PROGRESS_H
#define AMP_LIB_COMPILER_PROGRESS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace amp {

/// Draws one line on standard error while it lives, several times a second:
///
///     compiling [####..] 5/6 code 12.3 s, 14.0 s in all
///
/// Draws nothing where standard error is no terminal.
class Progress {
public:
  /// `phases` in the order they will begin.
  explicit Progress(llvm::ArrayRef<llvm::StringLiteral> phases);
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  /// Goes on to the phase after `phase`.
  void finish(llvm::StringRef phase);

private:
  using Clock = std::chrono::steady_clock;

  void run();
  void draw() const;

  llvm::ArrayRef<llvm::StringLiteral> phases;
  bool isShown;
  Clock::time_point start = Clock::now(), phaseStart = start;
  size_t current = 0;
  bool isDone = false;
  std::mutex mutex;
  std::condition_variable changed;
  std::thread drawer;
};

} // namespace amp

#endif // AMP_LIB_COMPILER_PROGRESS_H
