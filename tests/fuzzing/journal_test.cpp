// The journal: what comes back after a kill, and which files it refuses.
#include "conformance/fuzz/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>
#include <limits>

#include "golden/file_error.h"
#include "tests/fuzzing/scratch_file.h"

namespace mhcheck::conformance {
namespace {

using golden::FileError;
using ::testing::HasSubstr;
using testing::message_of;
using testing::ScratchFile;

const nlohmann::json kHeader{{"seed", 5}, {"kernels", {"host"}}};

Record record(std::uint64_t number) {
  Record r;
  r.number = number;
  r.tested = parse_descriptor("mhc_post:bf16:t3:n4:h512:in=massive:seed=9");
  r.kernel = "host";
  r.outcome.status = CaseStatus::passed;
  r.outcome.worst = {0.5, std::numeric_limits<double>::infinity(), 1e-7};
  r.outcome.elements = 6144;
  r.outcome.certification.elements[1] = 3;
  r.outcome.laws_kept = {"repeatability"};
  r.outcome.laws_silent = 2;
  return r;
}

Record failed_record(std::uint64_t number) {
  Record r = record(number);
  r.outcome.status = CaseStatus::failed;
  r.outcome.kind = "crashed";
  r.outcome.text = "two\nlines\n";
  r.outcome.laws_broken = {"batch_invariance"};
  r.simplest = SimplestFailure{parse_descriptor("mhc_post:bf16:t1:n1:h1"), "simple\n", 12};
  return r;
}

TEST(Journal, GivesBackWhatWasAdded) {
  const ScratchFile file;
  {
    Journal journal(file.path(), kHeader);
    EXPECT_TRUE(journal.finished().empty());
    journal.add(record(1), 2.5);
    journal.add(failed_record(0), 3.5);
  }
  const Journal journal(file.path(), kHeader);
  ASSERT_EQ(journal.finished().size(), 2u);
  EXPECT_EQ(journal.seconds_before(), 3.5);
  EXPECT_EQ(to_json(journal.finished()[0]), to_json(record(1)));
  EXPECT_EQ(to_json(journal.finished()[1]), to_json(failed_record(0)));
  EXPECT_EQ(journal.finished()[1].simplest->tested, failed_record(0).simplest->tested);
  EXPECT_EQ(journal.finished()[0].outcome.worst.ulps, std::numeric_limits<double>::infinity());
}

TEST(Journal, CutsOffTheLineThatAKilledCampaignWasWriting) {
  const ScratchFile file;
  {
    Journal journal(file.path(), kHeader);
    journal.add(record(0), 1);
    journal.add(record(1), 2);
  }
  const std::string whole = file.text();
  const std::size_t header_end = whole.find('\n') + 1, second_line = whole.find('\n', header_end) + 1;
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    file.write(whole.substr(0, size));
    Journal journal(file.path(), kHeader);
    const std::size_t lines = size == whole.size() ? 2 : size >= second_line ? 1 : 0;
    EXPECT_EQ(journal.finished().size(), lines) << "of " << size << " bytes";
    for (std::size_t i = lines; i < 2; ++i) journal.add(record(i), static_cast<double>(i + 1));
    ASSERT_EQ(file.text(), whole) << "from " << size << " bytes";
  }
}

TEST(Journal, RefusesAnotherCampaignsAndSaysWhatDiffers) {
  const ScratchFile file;
  Journal(file.path(), kHeader).add(record(0), 1);
  const std::string before = file.text();
  nlohmann::json other = kHeader;
  other["seed"] = 6;
  EXPECT_THAT(message_of<FileError>([&] { Journal(file.path(), other); }),
              HasSubstr("is the journal of another campaign: its seed is 5, this one's is 6"));
  EXPECT_EQ(file.text(), before);
}

TEST(Journal, RefusesWhatIsNoJournalAndLeavesItAlone) {
  const ScratchFile file;
  for (const std::string text :
       {"not a journal", "not a journal\n", "{}\n", "[1]\n", "{\"seed\":5}\n", "7"}) {
    file.write(text);
    EXPECT_THAT(message_of<FileError>([&] { Journal(file.path(), kHeader); }),
                HasSubstr("is no journal of mhcheck fuzz"))
        << text;
    EXPECT_EQ(file.text(), text);
  }
  EXPECT_THAT(message_of<FileError>([] { Journal(std::filesystem::temp_directory_path(), kHeader); }),
              HasSubstr("cannot be opened"));
  EXPECT_THAT(message_of<FileError>([] { Journal("/dev/null", kHeader); }), HasSubstr("is no regular file"));
}

TEST(Journal, NamesTheLineThatIsWrong) {
  const ScratchFile file;
  {
    Journal journal(file.path(), kHeader);
    journal.add(record(0), 1);
  }
  const std::string good = file.text();
  const std::string line = good.substr(good.find('\n') + 1);
  const auto message = [&](const std::string& text) {
    file.write(text);
    return message_of<FileError>([&] { Journal(file.path(), kHeader); });
  };
  EXPECT_THAT(message(good + "garbage\n"), HasSubstr("not valid JSON at byte"));
  EXPECT_THAT(message(good + line), HasSubstr("line 3: case 0 stands twice"));
  EXPECT_THAT(message(good + "{\"case\":1}\n"), HasSubstr("line 3: no record of a case"));
  std::string wrong = line;
  wrong.replace(wrong.find("mhc_post"), 8, "mhc_wost");
  EXPECT_THAT(message(good + wrong), HasSubstr("line 3: descriptor, character 1"));
  wrong = line;
  wrong.replace(wrong.find("\"passed\""), 8, "\"gassed\"");
  EXPECT_THAT(message(good + wrong), HasSubstr("line 3: status is 'gassed'"));
}

TEST(Journal, IsForOneCampaignAtATime) {
  const ScratchFile file;
  const Journal journal(file.path(), kHeader);
  // A lock is the process's own.
  const pid_t other = ::fork();
  if (other == 0) {
    const std::string message = message_of<FileError>([&] { Journal(file.path(), kHeader); });
    ::_exit(message.find("is in use by another campaign") != std::string::npos ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(other, &status, 0), other);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace mhcheck::conformance
