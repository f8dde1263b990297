#include "kernels/codeobject/code_object.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "kernels/codeobject/describe.h"
#include "tests/codeobject/test_objects.h"

namespace mhcheck::codeobject {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

CodeObject only_object(const std::string& name) {
  std::vector<CodeObject> objects = load_code_objects(object_path(name));
  EXPECT_EQ(objects.size(), 1u);
  return std::move(objects.front());
}

const Kernel& kernel_named(const CodeObject& object, const std::string& demangled) {
  const auto found = std::find_if(object.kernels().begin(), object.kernels().end(),
                                  [&](const Kernel& kernel) { return kernel.demangled == demangled; });
  if (found == object.kernels().end()) throw std::runtime_error("no kernel " + demangled);
  return *found;
}

class OptimisationLevel : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(O0AndO3, OptimisationLevel, testing::Values("scale_O0.hsaco", "scale_O3.hsaco"),
                         [](const auto& row) { return std::string(row.param).substr(6, 2); });

TEST_P(OptimisationLevel, KernelsAreNamedWithTheirTemplateArguments) {
  const CodeObject object = only_object(GetParam());
  std::set<std::string> names;
  for (const Kernel& kernel : object.kernels()) names.insert(kernel.demangled);
  EXPECT_EQ(names, (std::set<std::string>{
                       "void scale<float>(float*, float, int)", "void scale<_Float16>(_Float16*, float, int)",
                       "void scale<std::bfloat16_t>(std::bfloat16_t*, float, int)", "reverse_in_lds"}));
  EXPECT_EQ(object.target(), "gfx950");
  EXPECT_EQ(object.version(), 6);
}

TEST_P(OptimisationLevel, ArgumentsHaveTheOffsetsAndSizesOfTheSource) {
  const CodeObject object = only_object(GetParam());
  const Kernel& kernel = kernel_named(object, "void scale<float>(float*, float, int)");
  std::vector<std::uint32_t> offsets, sizes;
  std::vector<std::string> kinds;
  for (const Argument& argument : kernel.explicit_arguments()) {
    offsets.push_back(argument.offset);
    sizes.push_back(argument.size);
    kinds.push_back(argument.value_kind);
  }
  EXPECT_THAT(offsets, ElementsAre(0, 8, 12));
  EXPECT_THAT(sizes, ElementsAre(8, 4, 4));
  EXPECT_THAT(kinds, ElementsAre("global_buffer", "by_value", "by_value"));

  // blockDim.x comes as a hidden argument, in the block of 256 bytes behind the explicit ones.
  const auto block_size =
      std::find_if(kernel.arguments.begin(), kernel.arguments.end(),
                   [](const Argument& argument) { return argument.value_kind == "hidden_group_size_x"; });
  ASSERT_NE(block_size, kernel.arguments.end());
  EXPECT_EQ(block_size->offset, 16u + 12u);
  EXPECT_EQ(kernel.kernarg_size, 16u + 256u);
}

TEST_P(OptimisationLevel, DescriptorsAgreeWithTheSource) {
  const CodeObject object = only_object(GetParam());
  const Kernel& kernel = kernel_named(object, "reverse_in_lds");
  EXPECT_EQ(kernel.descriptor.group_segment_fixed_size, 256u * sizeof(int));
  EXPECT_EQ(kernel.max_workgroup_size, 256u);
  EXPECT_EQ(kernel.descriptor.kernarg_size, kernel.kernarg_size);
  EXPECT_GE(kernel.descriptor.allocated_vgprs(), kernel.vgpr_count);
  EXPECT_EQ(kernel.entry_address % 256, 0u);
  const auto code = std::find_if(object.segments().begin(), object.segments().end(),
                                 [](const Segment& segment) { return segment.executable; });
  ASSERT_NE(code, object.segments().end());
  EXPECT_GE(kernel.entry_address, code->address);
  EXPECT_LT(kernel.entry_address, code->address + code->size);
}

TEST(CodeObject, UnoptimisedCodeNeedsScratchAndOptimisedCodeDoesNot) {
  const std::string name = "void scale<float>(float*, float, int)";
  EXPECT_GT(kernel_named(only_object("scale_O0.hsaco"), name).descriptor.private_segment_fixed_size, 0u);
  EXPECT_EQ(kernel_named(only_object("scale_O3.hsaco"), name).descriptor.private_segment_fixed_size, 0u);
}

template <class Word>
Word word_at(const std::vector<std::byte>& image, std::uint64_t address) {
  Word word;
  std::memcpy(&word, image.data() + address, sizeof(Word));
  return word;
}

TEST(CodeObject, RelocationsPointIntoTheImageWhereverItLies) {
  const CodeObject object = only_object("globals.hsaco");
  ASSERT_EQ(object.relocations().size(), 2u);
  const std::uint64_t first_base = 0x100000000, second_base = 0x7654321000;
  const std::vector<std::byte> first = object.image_at(first_base), second = object.image_at(second_base);
  std::vector<std::int32_t> pointees;
  for (const Relocation& relocation : object.relocations()) {
    const auto pointer = word_at<std::uint64_t>(first, relocation.address);
    EXPECT_EQ(word_at<std::uint64_t>(second, relocation.address) - pointer, second_base - first_base);
    pointees.push_back(word_at<std::int32_t>(first, pointer - first_base));
  }
  // hidden_table + 2 holds 3, and zeroed + 5 holds 0.
  EXPECT_THAT(pointees, testing::UnorderedElementsAre(3, 0));
}

TEST(CodeObject, ImagesDifferInRelocatedWordsAlone) {
  const CodeObject object = only_object("globals.hsaco");
  std::vector<std::byte> first = object.image_at(0x100000000), second = object.image_at(0x7654321000);
  for (const Relocation& relocation : object.relocations()) {
    std::fill_n(first.begin() + static_cast<std::ptrdiff_t>(relocation.address), 8, std::byte{0});
    std::fill_n(second.begin() + static_cast<std::ptrdiff_t>(relocation.address), 8, std::byte{0});
  }
  EXPECT_EQ(first, second);
}

TEST(CodeObject, MemoryBeyondTheFileIsZero) {
  const CodeObject object = only_object("globals.hsaco");
  const std::vector<std::byte> image = object.image_at(0x100000000);
  std::uint64_t zero_filled = 0;
  for (const Segment& segment : object.segments()) {
    for (std::uint64_t i = segment.file_size; i < segment.size; ++i) {
      EXPECT_EQ(image[segment.address + i], std::byte{0});
      ++zero_filled;
    }
  }
  EXPECT_GE(zero_filled, 4096u * sizeof(int));
}

TEST(CodeObject, SegmentsKeepTheirPermissions) {
  std::vector<std::string> permissions;
  const CodeObject object = only_object("globals.hsaco");
  for (const Segment& segment : object.segments()) {
    permissions.push_back(
        {segment.readable ? 'r' : '-', segment.writable ? 'w' : '-', segment.executable ? 'x' : '-'});
  }
  EXPECT_THAT(permissions, ElementsAre("r--", "r-x", "rw-", "rw-"));
}

TEST(Describe, ShowsWhatALauncherNeeds) {
  const std::string text = describe(only_object("scale_O3.hsaco"));
  EXPECT_THAT(text, HasSubstr("code object version 6 for gfx950, 4 kernels"));
  EXPECT_THAT(text, HasSubstr("kernel void scale<float>(float*, float, int)"));
  EXPECT_THAT(text, HasSubstr("symbol        _Z5scaleIfEvPT_fi"));
  EXPECT_THAT(text, HasSubstr("LDS           1024 bytes static"));
  EXPECT_THAT(text, HasSubstr("workgroup     up to 256 work-items"));
  EXPECT_THAT(text, HasSubstr("8    4 bytes  by_value"));
}

TEST(Describe, NamesTheImagesOfOtherTargets) {
  const std::string text = describe_file(object_path("plain.so"));
  EXPECT_THAT(text, HasSubstr("ELF file with .hip_fatbin, 4 device images"));
  EXPECT_THAT(text, HasSubstr("code for gfx942"));
  EXPECT_THAT(text, HasSubstr("kernel second_unit"));
  EXPECT_THAT(describe_file(object_path("gfx942.hsaco")), HasSubstr("code for gfx942"));
}

}  // namespace
}  // namespace mhcheck::codeobject
