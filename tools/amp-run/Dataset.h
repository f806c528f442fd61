//===- Dataset.h - Rows of data, in batches ---------------------*- C++ -*-===//
// Matches arrays of files with the inputs of an entry and cuts out batches.
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_AMPRUN_DATASET_H
#define AMP_TOOLS_AMPRUN_DATASET_H

#include "Options.h"
#include "amp/Runtime/Memory.h"
#include "amp/Runtime/Session.h"
#include <functional>

namespace amp::run {

/// Where messages to the user go.
using Say = std::function<void(const std::string &)>;

class Dataset {
public:
  /// Reads files and finds an array for every input of `entry`: by name, else
  /// by shape, else by position, and says so.
  Dataset(const runtime::Session &session, const std::string &entry,
          const std::vector<std::string> &files, const Say &say);

  int64_t getRows() const { return rows; }
  /// Rows of a batch, of all ranks together.
  int64_t getBatchRows() const { return batchRows * ranks; }
  /// From now on a batch is `ranks` times as large, and getBatch gives the
  /// share of `rank`.
  void share(int64_t rank, int64_t ranks) {
    this->rank = rank;
    this->ranks = ranks;
  }
  int64_t countBatches(LastBatch policy) const;

  /// Puts the rows back in their order, or in one of (seed, epoch) alone.
  void order();
  void shuffle(uint64_t seed, uint64_t epoch);

  /// Batch `index` in the current order; rows past the end are taken from the
  /// start again. Valid until the next call.
  std::vector<runtime::Binding> getBatch(int64_t index);

private:
  /// An input and where its rows come from.
  struct Column {
    std::string name;
    const runtime::TensorInfo *tensor;
    runtime::Array array;
    size_t rowBytes;
    runtime::Block batch;
  };

  void readFiles(const std::vector<std::string> &files);
  runtime::Array takeArray(const runtime::TensorInfo &tensor, size_t missing);
  void splitColumns(const std::vector<const runtime::TensorInfo *> &inputs);
  void addColumn(const runtime::TensorInfo &tensor, runtime::Array array);
  void countSamples();
  void alignRows(Column &column, const Column &fewest);

  Say say;
  std::vector<runtime::Array> arrays;
  std::vector<Column> columns;
  int64_t rows = 0, batchRows = 0, rank = 0, ranks = 1;
  bool isShuffled = false;
  std::vector<int64_t> permutation;
};

} // namespace amp::run

#endif // AMP_TOOLS_AMPRUN_DATASET_H
