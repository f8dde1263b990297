#include "golden/atomic_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <functional>

#include "golden/file_error.h"
#include "tests/golden/scratch_folder.h"

namespace mhcheck::golden {
namespace {

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const FileError& error) {
    return error.what();
  }
  return {};
}

std::size_t files_in(const std::filesystem::path& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

TEST(AtomicFile, AppearsWhenCommittedAndReplacesWhatWasThere) {
  const ScratchFolder folder;
  write_file(folder.path() / "f", "old");
  AtomicFile file(folder.path() / "f");
  file.write("new");
  EXPECT_EQ(read_file(folder.path() / "f"), "old");
  file.commit();
  EXPECT_EQ(read_file(folder.path() / "f"), "new");
  EXPECT_EQ(files_in(folder.path()), 1u);
}

TEST(AtomicFile, LeavesTheOldFileWhenItIsAbandoned) {
  const ScratchFolder folder;
  write_file(folder.path() / "f", "old");
  { AtomicFile(folder.path() / "f").write("new"); }
  EXPECT_EQ(read_file(folder.path() / "f"), "old");
  EXPECT_EQ(files_in(folder.path()), 1u);
}

// The disk's end, played by the limit on a file's size.
class SmallestDisk {
 public:
  SmallestDisk() {
    ::getrlimit(RLIMIT_FSIZE, &limit_);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{.rlim_cur = 1000, .rlim_max = limit_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
  }
  ~SmallestDisk() {
    ::setrlimit(RLIMIT_FSIZE, &limit_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit limit_;
  void (*handler_)(int);
};

TEST(AtomicFile, LeavesTheOldFileWhenTheDiskIsFull) {
  const ScratchFolder folder;
  write_file(folder.path() / "f", "old");
  // Once where the write itself fails, once where only flushing the last bytes does.
  for (const std::size_t bytes : {std::size_t{1'000'000}, std::size_t{1001}}) {
    const SmallestDisk small;
    EXPECT_EQ(error_of([&] {
                AtomicFile file(folder.path() / "f");
                file.write(std::string(bytes, 'x'));
                file.commit();
              }),
              (folder.path() / "f").string() + ": cannot be written: File too large");
  }
  EXPECT_EQ(read_file(folder.path() / "f"), "old");
  EXPECT_EQ(files_in(folder.path()), 1u);
}

TEST(AtomicFile, SaysWhyItCannotBeCreated) {
  const ScratchFolder folder;
  const std::filesystem::path nowhere = folder.path() / "none" / "f";
  EXPECT_EQ(error_of([&] { AtomicFile file(nowhere); }),
            nowhere.string() + ": cannot be created: No such file or directory");
  std::filesystem::create_directory(folder.path() / "taken");
  EXPECT_EQ(error_of([&] { AtomicFile file(folder.path() / "taken"); }),
            (folder.path() / "taken").string() +
                ": is there and is no regular file; name a file, or one that is yet to be made");
  EXPECT_EQ(files_in(folder.path()), 1u);
}

}  // namespace
}  // namespace mhcheck::golden
