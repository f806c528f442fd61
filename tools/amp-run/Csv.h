//===- Csv.h - Tables of numbers --------------------------------*- C++ -*-===//
// Reads comma-separated numbers, with or without a line of names.
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_AMPRUN_CSV_H
#define AMP_TOOLS_AMPRUN_CSV_H

#include "amp/Runtime/Array.h"

namespace amp::run {

/// Columns "x[0]", "x[1]", ... (or "x.0", ...) become one array "x" of shape
/// [rows, columns]; other columns arrays of shape [rows]. Without names the
/// table is one array "columns" of shape [rows, columns].
std::vector<runtime::Array> readCsv(const std::string &path);

/// The name readCsv gives a table that has none.
inline constexpr const char *unnamedColumns = "columns";

} // namespace amp::run

#endif // AMP_TOOLS_AMPRUN_CSV_H
