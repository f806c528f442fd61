//===- Csv.cpp - Tables of numbers ----------------------------------------===//
// Every cell is a number; anything else is an error with its line and column.
//===----------------------------------------------------------------------===//

#include "Csv.h"
#include "amp/Runtime/Failure.h"
#include "amp/Runtime/Files.h"
#include <charconv>
#include <cstring>
#include <map>

using namespace amp::run;
using namespace amp::runtime;

namespace {
struct Table {
  std::vector<std::string> names;
  size_t columns = 0;
  std::vector<double> cells;
  size_t rows() const { return columns ? cells.size() / columns : 0; }
};
/// The columns of one array.
struct Group {
  std::string name;
  std::vector<size_t> columns;
  bool indexed;
};
} // namespace

static std::string_view trim(std::string_view text) {
  while (!text.empty() && std::strchr(" \t\r\"", text.back()))
    text.remove_suffix(1);
  while (!text.empty() && std::strchr(" \t\"", text.front()))
    text.remove_prefix(1);
  return text;
}

static bool parseNumber(std::string_view text, double &value) {
  text = trim(text);
  if (!text.empty() && text[0] == '+')
    text.remove_prefix(1);
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

static std::vector<std::string_view> split(std::string_view line) {
  std::vector<std::string_view> cells;
  for (size_t comma; (comma = line.find(',')) != std::string_view::npos;) {
    cells.push_back(line.substr(0, comma));
    line.remove_prefix(comma + 1);
  }
  cells.push_back(line);
  return cells;
}

static bool isHeader(const std::vector<std::string_view> &cells) {
  double value;
  for (std::string_view cell : cells)
    if (!parseNumber(cell, value))
      return true;
  return false;
}

static void addRow(Table &table, const std::vector<std::string_view> &cells,
                   const std::string &where) {
  if (cells.size() != table.columns)
    fail(AMP_BAD_FILE, where + ": has " + std::to_string(cells.size()) +
                           " cells, the first line has " +
                           std::to_string(table.columns));
  for (size_t i = 0; i < cells.size(); ++i) {
    double value;
    if (!parseNumber(cells[i], value))
      fail(AMP_BAD_FILE, where + ", column " + std::to_string(i + 1) + ": " +
                             quote(trim(cells[i])) + " is no number");
    table.cells.push_back(value);
  }
}

static Table readTable(std::string_view text, const std::string &path) {
  Table table;
  for (size_t number = 1; !text.empty(); ++number) {
    size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (trim(line).empty())
      continue;
    std::vector<std::string_view> cells = split(line);
    if (table.columns == 0) {
      table.columns = cells.size();
      if (isHeader(cells)) {
        for (std::string_view cell : cells)
          table.names.emplace_back(trim(cell));
        continue;
      }
    }
    addRow(table, cells, path + ": line " + std::to_string(number));
  }
  if (table.rows() == 0)
    fail(AMP_BAD_FILE, path + ": has no rows");
  return table;
}

/// "x[3]" and "x.3" are column 3 of x.
static bool parseIndexed(const std::string &name, std::string &base,
                         size_t &index) {
  bool bracket = endsWith(name, "]");
  size_t start = name.rfind(bracket ? '[' : '.');
  if (start == std::string::npos || start == 0)
    return false;
  std::string digits =
      name.substr(start + 1, name.size() - start - 1 - bracket);
  if (digits.empty() || digits.size() > 9 ||
      digits.find_first_not_of("0123456789") != std::string::npos)
    return false;
  base = name.substr(0, start);
  index = std::stoul(digits);
  return true;
}

static std::vector<Group> groupColumns(const Table &table,
                                       const std::string &path) {
  std::vector<Group> groups;
  std::map<std::string, size_t> byName;
  for (size_t column = 0; column < table.columns; ++column) {
    std::string base = table.names[column];
    size_t index = 0;
    bool indexed = parseIndexed(table.names[column], base, index);
    auto [item, isNew] = byName.emplace(base, groups.size());
    if (isNew)
      groups.push_back({base, {}, indexed});
    Group &group = groups[item->second];
    if (group.columns.size() != index || group.indexed != indexed)
      fail(AMP_BAD_FILE, path + ": column " + quote(table.names[column]) +
                             " occurs twice or out of order");
    group.columns.push_back(column);
  }
  return groups;
}

std::vector<Array> amp::run::readCsv(const std::string &path) {
  Bytes bytes = mapFile(path);
  Table table = readTable(bytes.view, path);
  std::vector<Group> groups;
  if (!table.names.empty()) {
    groups = groupColumns(table, path);
  } else {
    groups.push_back({unnamedColumns, {}, true});
    for (size_t i = 0; i < table.columns; ++i)
      groups[0].columns.push_back(i);
  }
  std::vector<Array> arrays;
  for (const Group &group : groups) {
    Shape shape = {static_cast<int64_t>(table.rows())};
    if (group.indexed)
      shape.push_back(static_cast<int64_t>(group.columns.size()));
    char *data;
    arrays.push_back(makeArray(group.name, DType::F64, shape, &data));
    auto *target = reinterpret_cast<double *>(data);
    for (size_t row = 0; row < table.rows(); ++row)
      for (size_t column : group.columns)
        *target++ = table.cells[row * table.columns + column];
  }
  return arrays;
}
