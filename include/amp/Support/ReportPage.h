//===- ReportPage.h - A report as one HTML page -----------------*- C++ -*-===//
// The page of data/report.html, which is built in, with data put into it.
//===----------------------------------------------------------------------===//

#ifndef AMP_SUPPORT_REPORTPAGE_H
#define AMP_SUPPORT_REPORTPAGE_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace amp {

/// Whether a report of that name is a page.
inline bool isPageName(llvm::StringRef file) {
  return file.ends_with_insensitive(".html") ||
         file.ends_with_insensitive(".htm");
}

/// The page that shows `json`: an object whose keys are those of
/// `docs/report.md`, "The page". Nothing in it can end the element it is in.
std::string makeReportPage(llvm::StringRef json);

} // namespace amp

#endif // AMP_SUPPORT_REPORTPAGE_H
