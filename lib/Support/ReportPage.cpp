//===- ReportPage.cpp - A report as one HTML page -------------------------===//
// The page of data/report.html, which is built in, with data put into it.
//===----------------------------------------------------------------------===//

#include "amp/Support/ReportPage.h"
#include <cassert>

using llvm::StringRef;

static constexpr struct {
  const char *name, *text;
} pages[] = {
#include "ReportPage.inc"
};

std::string amp::makeReportPage(StringRef json) {
  auto [before, after] = StringRef(pages[0].text).split("@REPORT_DATA@");
  assert(!after.empty() && "the page has a place for data");
  std::string page = before.str();
  page.reserve(before.size() + json.size() + after.size());
  // In JSON this character occurs in texts only.
  for (char c : json)
    if (c == '<')
      page += "\\u003c";
    else
      page += c;
  return page += after;
}
