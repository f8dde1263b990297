#include "conformance/shell_word.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <string>

namespace mhcheck::conformance {
namespace {

// What a shell makes of the word.
std::string through_a_shell(const std::string& word) {
  FILE* const shell = popen(("printf '%s' " + word).c_str(), "r");
  std::string text;
  std::array<char, 256> buffer;
  for (std::size_t count; (count = fread(buffer.data(), 1, buffer.size(), shell)) > 0;) {
    text.append(buffer.data(), count);
  }
  EXPECT_EQ(pclose(shell), 0);
  return text;
}

TEST(ShellWord, AnyTextStaysOneWord) {
  for (const std::string text :
       {"plain", "a/b-c_d.json", "two words", "it's", "'", "$HOME", "`id`", "a;b", "*", "back\\slash",
        "\"quoted\"", "tab\there", "new\nline", "", "~", "#no", "é"}) {
    EXPECT_EQ(through_a_shell(shell_word(text)), text);
  }
}

TEST(ShellWord, PlainTextStaysReadable) {
  EXPECT_EQ(shell_word("kernels/mine.json"), "kernels/mine.json");
  EXPECT_EQ(shell_word("my kernels"), "'my kernels'");
}

}  // namespace
}  // namespace mhcheck::conformance
