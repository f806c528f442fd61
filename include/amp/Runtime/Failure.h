//===- Failure.h - Errors inside the runtime --------------------*- C++ -*-===//
// The runtime fails by exception; the C interface turns them into a status.
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_FAILURE_H
#define AMP_RUNTIME_FAILURE_H

#include "amp-c/amp.h"
#include <stdexcept>
#include <string>
#include <string_view>

namespace amp::runtime {

/// What went wrong, as a status and a sentence that names the culprit.
class Failure : public std::runtime_error {
public:
  Failure(amp_status status, const std::string &text)
      : std::runtime_error(text), status(status) {}
  const amp_status status;
};

[[noreturn]] inline void fail(amp_status status, const std::string &text) {
  throw Failure(status, text);
}

/// 'name', with what would garble a terminal replaced, and cut if it is long.
std::string quote(std::string_view name);

/// "name one, two, three and 4 more": lists do not flood a terminal.
class NameList {
public:
  void add(std::string_view name);
  bool empty() const { return count == 0; }
  std::string str() const;

private:
  static constexpr size_t most = 8;
  std::string text;
  size_t count = 0;
};

} // namespace amp::runtime

#endif // AMP_RUNTIME_FAILURE_H
