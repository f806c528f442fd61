//===- Dataset.cpp - Rows of data, in batches -----------------------------===//
// The first dimension of every input counts rows.
//===----------------------------------------------------------------------===//

#include "Dataset.h"
#include "Csv.h"
#include "amp/Runtime/Checkpoint.h"
#include "amp/Runtime/Failure.h"
#include <algorithm>
#include <cstring>

using namespace amp::run;
using namespace amp::runtime;

/// Elements of one row.
static int64_t countRow(const Shape &shape) {
  int64_t count = 1;
  for (size_t i = 1; i < shape.size(); ++i)
    count *= shape[i];
  return count;
}

void Dataset::readFiles(const std::vector<std::string> &files) {
  for (const std::string &path : files) {
    std::vector<Array> found =
        endsWith(path, ".csv") ? readCsv(path) : readTensorFile(path).arrays;
    for (Array &array : found) {
      for (const Array &other : arrays)
        if (other.name == array.name)
          fail(AMP_BAD_FILE, path + ": another file has an array " +
                                 quote(array.name) + ", too");
      arrays.push_back(std::move(array));
    }
  }
}

/// Whether `array` can be rows of `tensor`.
static bool canFeed(const Array &array, const TensorInfo &tensor) {
  if (tensor.isScalar())
    return array.shape.empty();
  return !array.shape.empty() &&
         countRow(array.shape) == countRow(tensor.shape);
}

/// The table of a csv file without names has the inputs side by side.
void Dataset::splitColumns(const std::vector<const TensorInfo *> &inputs) {
  if (arrays.size() != 1 || arrays[0].name != unnamedColumns ||
      inputs.size() < 2)
    return;
  Array table = std::move(arrays[0]);
  arrays.clear();
  int64_t width = table.shape[1], first = 0, needed = 0;
  for (const TensorInfo *tensor : inputs)
    needed += tensor->isScalar() ? 1 : countRow(tensor->shape);
  if (needed != width)
    fail(AMP_MISMATCH, "the table has " + std::to_string(width) +
                           " columns and no names; the inputs take " +
                           std::to_string(needed));
  for (const TensorInfo *tensor : inputs) {
    int64_t count = countRow(tensor->shape);
    char *data;
    arrays.push_back(
        makeArray(tensor->name, table.dtype, {table.shape[0], count}, &data));
    size_t bytes = static_cast<size_t>(count) * sizeof(double);
    for (int64_t row = 0; row < table.shape[0]; ++row)
      std::memcpy(data + static_cast<size_t>(row) * bytes,
                  table.data +
                      static_cast<size_t>(row * width + first) * sizeof(double),
                  bytes);
    say("input " + quote(tensor->name) + " takes columns " +
        std::to_string(first + 1) + " to " + std::to_string(first + count) +
        " of the table");
    first += count;
  }
}

/// The array for an input that none is named for: the only one that fits, or
/// the first one when as many are left as inputs (`missing`).
Array Dataset::takeArray(const TensorInfo &tensor, size_t missing) {
  std::vector<size_t> fitting;
  NameList have;
  for (size_t i = 0; i < arrays.size(); ++i) {
    have.add(arrays[i].name + " " + arrays[i].describe());
    if (canFeed(arrays[i], tensor))
      fitting.push_back(i);
  }
  bool byPosition = fitting.size() != 1;
  if (byPosition &&
      (arrays.size() != missing || fitting.empty() || fitting[0] != 0))
    fail(AMP_NOT_FOUND,
         "the data has no array " + quote(tensor.name) + " for the input of " +
             "that name (" + tensor.describe() +
             "); arrays not used yet: " + (have.empty() ? "none" : have.str()));
  size_t chosen = fitting[0];
  Array array = std::move(arrays[chosen]);
  arrays.erase(arrays.begin() + static_cast<ptrdiff_t>(chosen));
  say("input " + quote(tensor.name) + " takes array " + quote(array.name) +
      " (by " + (byPosition ? "position" : "shape") + ")");
  return array;
}

void Dataset::addColumn(const TensorInfo &tensor, Array array) {
  if (!canFeed(array, tensor))
    fail(AMP_MISMATCH, "array " + quote(array.name) + " is " +
                           array.describe() + ", which cannot be rows of " +
                           "input " + quote(tensor.name) + " (" +
                           tensor.describe() + ")");
  Shape rowShape = array.shape;
  if (!rowShape.empty())
    rowShape[0] = tensor.shape[0];
  if (rowShape != tensor.shape)
    say("array " + quote(array.name) + " (" + array.describe() +
        ") is read as rows of " + tensor.describe());
  if (array.dtype != tensor.dtype) {
    char *data;
    Array converted = makeArray(array.name, tensor.dtype, array.shape, &data);
    convert(array, tensor.dtype, data);
    if (!isWidening(array.dtype, tensor.dtype) && isFloat(array.dtype))
      say("array " + quote(array.name) + " is rounded from " +
          getName(array.dtype) + " to " + getName(tensor.dtype));
    array = std::move(converted);
  }
  size_t rowBytes =
      static_cast<size_t>(countRow(tensor.shape)) * getSize(tensor.dtype);
  columns.push_back({tensor.name, &tensor, std::move(array), rowBytes,
                     Block(tensor.bytes, amp_options{}, "a batch")});
}

/// Counts samples: the rows of the input with the fewest. An input with more
/// (labels of every token, beside sequences) has several rows a sample.
void Dataset::countSamples() {
  const Column *fewest = nullptr;
  for (const Column &column : columns) {
    if (column.tensor->isScalar())
      continue;
    if (column.tensor->shape[0] == 0)
      fail(AMP_UNSUPPORTED, "input " + quote(column.name) + " takes no rows");
    if (!fewest || column.tensor->shape[0] < fewest->tensor->shape[0])
      fewest = &column;
  }
  if (!fewest)
    return;
  batchRows = fewest->tensor->shape[0];
  rows = fewest->array.shape[0];
  for (Column &column : columns)
    if (!column.tensor->isScalar())
      alignRows(column, *fewest);
}

void Dataset::alignRows(Column &column, const Column &fewest) {
  int64_t batch = column.tensor->shape[0], count = column.array.shape[0];
  if (batch % batchRows != 0)
    fail(AMP_UNSUPPORTED, "input " + quote(column.name) + " takes " +
                              std::to_string(batch) + " rows, which " +
                              quote(fewest.name) + " with its " +
                              std::to_string(batchRows) + " does not divide");
  int64_t perSample = batch / batchRows;
  if (count != rows * perSample)
    fail(AMP_MISMATCH,
         "array " + quote(column.array.name) + " has " + std::to_string(count) +
             " rows, but " + quote(fewest.array.name) + " has " +
             std::to_string(rows) +
             (perSample == 1
                  ? std::string()
                  : ", each of which goes with " + std::to_string(perSample)));
  column.rowBytes *= static_cast<size_t>(perSample);
}

Dataset::Dataset(const Session &session, const std::string &entryName,
                 const std::vector<std::string> &files, const Say &say)
    : say(say) {
  const EntryInfo *entry = session.getManifest().findEntry(entryName);
  if (!entry)
    fail(AMP_NOT_FOUND, "the artifact has no entry " + quote(entryName));
  readFiles(files);
  std::vector<const TensorInfo *> inputs, unnamed;
  for (size_t id : entry->tensors)
    if (isFed(session.getTensor(id).role))
      inputs.push_back(&session.getTensor(id));
  splitColumns(inputs);
  for (const TensorInfo *tensor : inputs) {
    auto found =
        std::find_if(arrays.begin(), arrays.end(), [&](const Array &array) {
          return array.name == tensor->name;
        });
    if (found == arrays.end()) {
      unnamed.push_back(tensor);
      continue;
    }
    Array array = std::move(*found);
    arrays.erase(found);
    addColumn(*tensor, std::move(array));
  }
  for (size_t i = 0; i < unnamed.size(); ++i)
    addColumn(*unnamed[i], takeArray(*unnamed[i], unnamed.size() - i));
  countSamples();
  for (const Array &array : arrays)
    say("array " + quote(array.name) + " is not used");
  if (rows == 0)
    fail(AMP_MISMATCH, "the data has no rows");
}

int64_t Dataset::countBatches(LastBatch policy) const {
  int64_t whole = rows / getBatchRows();
  return policy == LastBatch::Drop ? whole
                                   : whole + (rows % getBatchRows() != 0);
}

void Dataset::order() { isShuffled = false; }

/// A counter-based generator (the finalizer of splitmix64): number `index` of a
/// stream, without those before it.
static uint64_t getRandom(uint64_t stream, uint64_t index) {
  uint64_t value = stream + (index + 1) * 0x9e3779b97f4a7c15u;
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
  value = (value ^ value >> 27) * 0x94d049bb133111ebu;
  return value ^ value >> 31;
}

void Dataset::shuffle(uint64_t seed, uint64_t epoch) {
  isShuffled = true;
  permutation.resize(static_cast<size_t>(rows));
  for (int64_t i = 0; i < rows; ++i)
    permutation[static_cast<size_t>(i)] = i;
  uint64_t stream = getRandom(getRandom(seed, 0), epoch);
  for (size_t i = permutation.size(); i > 1; --i) {
    // The high half of a product: a bias of 2^-64 per row is none.
    auto wide = static_cast<unsigned __int128>(getRandom(stream, i)) * i;
    std::swap(permutation[i - 1], permutation[static_cast<size_t>(wide >> 64)]);
  }
}

std::vector<Binding> Dataset::getBatch(int64_t index) {
  std::vector<Binding> bindings;
  for (Column &column : columns) {
    const TensorInfo &tensor = *column.tensor;
    // Nothing writes through a binding that is an input.
    char *data = const_cast<char *>(column.array.data);
    int64_t first = (index * ranks + rank) * batchRows;
    if (!tensor.isScalar() && !isShuffled && first + batchRows <= rows) {
      data += static_cast<size_t>(first) * column.rowBytes;
    } else if (!tensor.isScalar()) {
      for (int64_t i = 0; i < batchRows; ++i) {
        auto row = static_cast<size_t>((first + i) % rows);
        if (isShuffled)
          row = static_cast<size_t>(permutation[row]);
        std::memcpy(column.batch.get() +
                        static_cast<size_t>(i) * column.rowBytes,
                    column.array.data + row * column.rowBytes, column.rowBytes);
      }
      data = column.batch.get();
    }
    bindings.push_back({column.name, data, tensor.dtype, tensor.shape});
  }
  return bindings;
}
