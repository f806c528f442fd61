//===- AtomicFileTest.cpp - Output files that appear whole or not ---------===//
// Old content survives failures, links and modes are kept, nothing is left.
//===----------------------------------------------------------------------===//

#include "amp/Support/AtomicFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"
#include <csignal>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace amp;

namespace {

/// A folder of its own for each test, removed at the end.
class AtomicFileTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("atomic-file", folder));
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  std::string getPath(llvm::StringRef name) {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, name);
    return path.str().str();
  }

  std::string read(llvm::StringRef name) {
    auto buffer = llvm::MemoryBuffer::getFile(getPath(name));
    return buffer ? (*buffer)->getBuffer().str() : "<none>";
  }

  unsigned countFiles() {
    std::error_code error;
    unsigned count = 0;
    for (llvm::sys::fs::directory_iterator it(folder, error), end; it != end;
         it.increment(error))
      ++count;
    return count;
  }

  std::unique_ptr<AtomicFile> create(llvm::StringRef name) {
    auto file = AtomicFile::create(getPath(name));
    EXPECT_TRUE(bool(file)) << llvm::toString(file.takeError());
    return file ? std::move(*file) : nullptr;
  }

  void put(llvm::StringRef name, llvm::StringRef text) {
    auto file = create(name);
    ASSERT_FALSE(bool(file->write(text)));
    ASSERT_FALSE(bool(AtomicFile::commit({file.get()})));
  }

  llvm::SmallString<128> folder;
};

TEST_F(AtomicFileTest, appears_only_at_commit) {
  put("out", "old");
  auto file = create("out");
  ASSERT_FALSE(bool(file->write(llvm::StringRef("new"))));
  EXPECT_EQ(read("out"), "old");
  ASSERT_FALSE(bool(AtomicFile::commit({file.get()})));
  EXPECT_EQ(read("out"), "new");
  file.reset();
  EXPECT_EQ(read("out"), "new");
  EXPECT_EQ(countFiles(), 1u);
}

TEST_F(AtomicFileTest, dropped_file_leaves_nothing) {
  put("out", "old");
  {
    auto file = create("out");
    ASSERT_FALSE(bool(file->write(llvm::StringRef("half of"))));
  }
  EXPECT_EQ(read("out"), "old");
  EXPECT_EQ(countFiles(), 1u);
}

TEST_F(AtomicFileTest, pieces_are_written_in_order) {
  std::string expected;
  std::vector<std::string> texts;
  for (int i = 0; i < 5000; ++i)
    texts.push_back(i % 7 ? std::to_string(i) : "");
  std::vector<struct iovec> pieces;
  for (std::string &text : texts) {
    expected += text;
    pieces.push_back({text.data(), text.size()});
  }
  auto file = create("out");
  ASSERT_FALSE(bool(file->write(llvm::MutableArrayRef(pieces))));
  ASSERT_FALSE(bool(AtomicFile::commit({file.get()})));
  EXPECT_EQ(read("out"), expected);
}

TEST_F(AtomicFileTest, mode_and_link_of_old_file_are_kept) {
  put("real", "old");
  ASSERT_EQ(::chmod(getPath("real").c_str(), 0640), 0);
  ASSERT_EQ(::symlink("real", getPath("link").c_str()), 0);
  put("link", "new");
  EXPECT_EQ(read("real"), "new");
  EXPECT_TRUE(llvm::sys::fs::is_symlink_file(getPath("link")));
  struct stat status;
  ASSERT_EQ(::stat(getPath("real").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
}

TEST_F(AtomicFileTest, long_name_is_no_problem) {
  std::string name(255, 'n');
  put(name, "text");
  EXPECT_EQ(read(name), "text");
}

TEST_F(AtomicFileTest, missing_folder_is_named) {
  auto file = AtomicFile::create(getPath("no/such/out"));
  ASSERT_FALSE(bool(file));
  std::string text = llvm::toString(file.takeError());
  EXPECT_NE(text.find("no/such/out"), std::string::npos) << text;
  EXPECT_NE(text.find("No such file or directory"), std::string::npos) << text;
}

TEST_F(AtomicFileTest, folder_as_target_is_an_error) {
  auto file = AtomicFile::create(folder);
  ASSERT_FALSE(bool(file));
  EXPECT_NE(llvm::toString(file.takeError()).find("Is a directory"),
            std::string::npos);
}

TEST_F(AtomicFileTest, full_device_is_reported) {
  auto file = AtomicFile::create("/dev/full");
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  EXPECT_FALSE((*file)->isAtomic());
  llvm::Error error = (*file)->write(llvm::StringRef("text"));
  ASSERT_TRUE(bool(error));
  EXPECT_EQ(llvm::toString(std::move(error)),
            "cannot write '/dev/full': No space left on device");
}

TEST_F(AtomicFileTest, failed_write_leaves_the_old_file) {
  put("out", "old");
  struct rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  auto handler = std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit small = {1000, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  std::string message;
  {
    auto file = create("out");
    message =
        llvm::toString(file->write(llvm::StringRef(std::string(5000, 'x'))));
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_NE(message.find("File too large"), std::string::npos) << message;
  EXPECT_EQ(read("out"), "old");
  EXPECT_EQ(countFiles(), 1u);
}

TEST_F(AtomicFileTest, signal_removes_the_temporary_file) {
  put("out", "old");
  pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto file = AtomicFile::create(getPath("out"));
    bool good = file && !(*file)->write(llvm::StringRef("half of"));
    std::raise(good ? SIGTERM : SIGABRT);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
  EXPECT_EQ(read("out"), "old");
  EXPECT_EQ(countFiles(), 1u);
}

TEST_F(AtomicFileTest, companions_appear_together) {
  auto data = create("model.data"), model = create("model");
  ASSERT_FALSE(bool(data->write(llvm::StringRef("weights"))));
  ASSERT_FALSE(bool(model->write(llvm::StringRef("graph"))));
  EXPECT_EQ(read("model.data"), "<none>");
  ASSERT_FALSE(bool(AtomicFile::commit({data.get(), model.get()})));
  EXPECT_EQ(read("model.data"), "weights");
  EXPECT_EQ(read("model"), "graph");
  EXPECT_EQ(countFiles(), 2u);
}

} // namespace
