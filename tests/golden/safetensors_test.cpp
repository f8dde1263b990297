#include "golden/safetensors.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cstring>
#include <sstream>

#include "tests/golden/scratch_folder.h"

namespace mhcheck::golden {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string little_endian(std::uint64_t value) {
  std::string bytes(8, '\0');
  for (int i = 0; i < 8; ++i) bytes[static_cast<std::size_t>(i)] = static_cast<char>(value >> (8 * i));
  return bytes;
}

std::string file_of(const std::string& header, const std::string& data) {
  return little_endian(header.size()) + header + data;
}

SafetensorsReader reader_of(const std::string& bytes) {
  return SafetensorsReader(std::make_unique<std::istringstream>(bytes), "f");
}

// What opening these bytes says; empty when it accepts them.
std::string error_of(const std::string& bytes) {
  try {
    reader_of(bytes);
  } catch (const FileError& error) {
    return error.what();
  }
  return {};
}

Tensor tensor_of(Dtype dtype, Extents shape, const std::vector<std::uint32_t>& bits) {
  Tensor tensor(dtype, std::move(shape));
  EXPECT_EQ(tensor.size(), bits.size());
  for (std::size_t e = 0; e < bits.size(); ++e) tensor.set_bits(e, bits[e]);
  return tensor;
}

// ---- Bytes written down by hand: neither side can lean on the other's mistakes
// -----------------------------

TEST(Safetensors, ReadsAFileWrittenByHand) {
  const std::string header = R"({"b":{"dtype":"BF16","shape":[2,1],"data_offsets":[8,12]},)"
                             R"("d":{"dtype":"F64","shape":[1],"data_offsets":[0,8]},)"
                             R"("h":{"dtype":"F16","shape":[],"data_offsets":[12,14]},)"
                             R"("none":{"dtype":"F32","shape":[3,0,2],"data_offsets":[14,14]},)"
                             R"("__metadata__":{"who":"hand"}}   )";
  SafetensorsReader reader =
      reader_of(file_of(header, std::string("\x00\x00\x00\x00\x00\x00\xf8\x3f\x80\x3f\x01\xff\x34\x12", 14)));

  EXPECT_EQ(reader.metadata(), (Metadata{{"who", "hand"}}));
  EXPECT_EQ(reader.tensors().size(), 4u);
  EXPECT_THAT(reader.read_doubles("d"), ElementsAre(1.5));
  EXPECT_EQ(reader.read("b"), tensor_of(Dtype::bf16, {2, 1}, {0x3f80, 0xff01}));
  EXPECT_EQ(reader.read("h"), tensor_of(Dtype::fp16, {}, {0x1234}));
  EXPECT_EQ(reader.read("none"), Tensor(Dtype::fp32, {3, 0, 2}));
}

TEST(Safetensors, WritesTheBytesOfTheFormat) {
  const ScratchFolder folder;
  const Tensor half = tensor_of(Dtype::fp16, {1}, {0x1234});
  const Tensor brain = tensor_of(Dtype::bf16, {2, 1}, {0x3f80, 0xff01});
  const Tensor single = tensor_of(Dtype::fp32, {1}, {0xdeadbeef});
  const Tensor none(Dtype::fp32, {0, 7});
  write_safetensors(folder.path() / "f", {{"who", "us"}},
                    {{"a", &half}, {"b", &brain}, {"z", &single}, {"y", &none}});

  std::string header = R"({"__metadata__":{"who":"us"},)"
                       R"("y":{"dtype":"F32","shape":[0,7],"data_offsets":[0,0]},)"
                       R"("z":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                       R"("a":{"dtype":"F16","shape":[1],"data_offsets":[4,6]},)"
                       R"("b":{"dtype":"BF16","shape":[2,1],"data_offsets":[6,10]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  EXPECT_EQ(read_file(folder.path() / "f"), file_of(header, "\xef\xbe\xad\xde\x34\x12\x80\x3f\x01\xff"));
}

TEST(Safetensors, WritesAnEmptyFile) {
  const ScratchFolder folder;
  write_safetensors(folder.path() / "f", {}, {});
  EXPECT_EQ(read_file(folder.path() / "f"), file_of("{}      ", ""));
  EXPECT_TRUE(SafetensorsReader(folder.path() / "f").tensors().empty());
}

TEST(Safetensors, OrderInTheHeaderIsFree) {
  EXPECT_EQ(error_of(file_of(R"({"a":{"dtype":"F16","shape":[1],"data_offsets":[2,4]},)"
                             R"("b":{"dtype":"F16","shape":[1],"data_offsets":[0,2]}})",
                             "1234")),
            "");
}

// ---- Round trips ------------------------------------------------------------------------------------------

rc::Gen<Tensor> any_tensor() {
  return rc::gen::exec([] {
    const Dtype dtype = *rc::gen::element(Dtype::bf16, Dtype::fp16, Dtype::fp32);
    const auto rank = *rc::gen::inRange<std::size_t>(0, 5);
    const Extents shape = *rc::gen::container<Extents>(rank, rc::gen::inRange<std::int64_t>(0, 6));
    Tensor tensor(dtype, shape);
    const auto bytes = *rc::gen::container<std::vector<std::uint8_t>>(tensor.bytes().size(),
                                                                      rc::gen::arbitrary<std::uint8_t>());
    if (!bytes.empty()) std::memcpy(tensor.bytes().data(), bytes.data(), bytes.size());
    return tensor;
  });
}

// Names and texts that need escapes in JSON, among them.
rc::Gen<std::string> any_text() { return rc::gen::container<std::string>(rc::gen::inRange<char>(1, 127)); }

RC_GTEST_PROP(Safetensors, EveryTensorAndTextComesBackBitForBit, ()) {
  const auto tensors = *rc::gen::container<TensorMap>(any_text(), any_tensor());
  const auto metadata = *rc::gen::container<Metadata>(any_text(), any_text());
  RC_CLASSIFY(std::any_of(tensors.begin(), tensors.end(), [](const auto& t) { return t.second.size() == 0; }),
              "a tensor without elements");

  const ScratchFolder folder;
  TensorRefs refs;
  for (const auto& [name, tensor] : tensors) refs[name] = &tensor;
  write_safetensors(folder.path() / "f", metadata, refs);
  write_safetensors(folder.path() / "again", metadata, refs);

  SafetensorsReader reader(folder.path() / "f");
  RC_ASSERT(reader.metadata() == metadata);
  RC_ASSERT(reader.tensors().size() == tensors.size());
  for (const auto& [name, tensor] : tensors) RC_ASSERT(reader.read(name) == tensor);
  RC_ASSERT(read_file(folder.path() / "f") == read_file(folder.path() / "again"));
}

TEST(Safetensors, ReadsTensorsBeyondFourGigabytes) {
  constexpr std::uint64_t kBig = (std::uint64_t{5} << 30);
  const ScratchFolder folder;
  const std::string header = fmt::format(R"({{"big":{{"dtype":"BF16","shape":[{}],"data_offsets":[0,{}]}},)"
                                         R"("small":{{"dtype":"BF16","shape":[1],"data_offsets":[{},{}]}}}})",
                                         kBig / 2, kBig, kBig, kBig + 2);
  write_file(folder.path() / "f", file_of(header, ""));
  // A hole in the file: it takes no disk.
  std::filesystem::resize_file(folder.path() / "f", 8 + header.size() + kBig);
  std::ofstream(folder.path() / "f", std::ios::binary | std::ios::app) << "\x34\x12";

  SafetensorsReader reader(folder.path() / "f");
  EXPECT_EQ(reader.read("small"), tensor_of(Dtype::bf16, {1}, {0x1234}));
  EXPECT_EQ(reader.tensors().at("big").end, kBig);
}

// ---- Damage: each kind has its message --------------------------------------------------------------------

struct Damage {
  std::string kind;
  std::string bytes;
  std::string message;
};

// One tensor "a" with these fields and four bytes of data.
std::string with_tensor(const std::string& fields) { return file_of(R"({"a":{)" + fields + "}}", "1234"); }

std::vector<Damage> every_damage() {
  const std::string two_floats =
      R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[)";
  return {
      {"empty file", "", "f: has 0 bytes, a safetensors file begins with the 8 bytes of its header's length"},
      {"too short for a length", "1234567",
       "f: has 7 bytes, a safetensors file begins with the 8 bytes of its header's length"},
      {"header length beyond the file", little_endian(3) + "{}",
       "f: header length 3 at byte 0 is wrong or the file is truncated: the file has 10 bytes, so it can be "
       "2 at most"},
      {"header length near 2^64", little_endian(~std::uint64_t{0}) + "{}",
       "f: header length 18446744073709551615 at byte 0 is wrong or the file is truncated: the file has 10 "
       "bytes, so "
       "it can be 2 at most"},
      {"header length too small",
       little_endian(5) + R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}1234)",
       "f: not valid JSON at byte 13"},
      {"header length 0", little_endian(0), "f: the header, from byte 8 on, must begin with '{'"},
      {"header is not JSON", file_of(R"({"a":tru})", ""), "f: not valid JSON at byte 16"},
      {"header is not UTF-8", file_of("{\"\xff\":{}}", ""), "f: not valid JSON at byte 10"},
      {"header with text behind the object", file_of("{} x", ""), "f: not valid JSON at byte 11"},
      {"header is an array", file_of("[]", ""), "f: the header, from byte 8 on, must begin with '{'"},
      {"number beyond every double", with_tensor(R"("dtype":"F32","shape":[1e999],"data_offsets":[0,4])"),
       "f: the JSON has a number that no double can hold"},
      {"tensor twice", file_of(R"({"a":{},"a":{}})", ""),
       R"(f: the JSON has the key "a" twice in one object)"},
      {"field twice", with_tensor(R"("dtype":"F32","dtype":"F16","shape":[1],"data_offsets":[0,4])"),
       R"(f: the JSON has the key "dtype" twice in one object)"},
      {"metadata twice", file_of(R"({"__metadata__":{"k":"1","k":"2"}})", ""),
       R"(f: the JSON has the key "k" twice in one object)"},
      {"metadata is text", file_of(R"({"__metadata__":"x"})", ""),
       "f: __metadata__ is a JSON string, must be an object of strings"},
      {"metadata with a number", file_of(R"({"__metadata__":{"seed":42}})", ""),
       R"(f: __metadata__: "seed" is a JSON number, must be a string)"},
      {"tensor is a number", file_of(R"({"a":1})", ""),
       R"(f: tensor "a" is a JSON number, must be an object)"},
      {"no dtype", with_tensor(R"("shape":[1],"data_offsets":[0,4])"),
       R"(f: tensor "a" has no field "dtype")"},
      {"no shape", with_tensor(R"("dtype":"F32","data_offsets":[0,4])"),
       R"(f: tensor "a" has no field "shape")"},
      {"no offsets", with_tensor(R"("dtype":"F32","shape":[1])"),
       R"(f: tensor "a" has no field "data_offsets")"},
      {"unknown field", with_tensor(R"("dtype":"F32","shape":[1],"data_offsets":[0,4],"strides":[1])"),
       R"(f: tensor "a" has an unknown field "strides"; known are dtype, shape, data_offsets)"},
      {"unknown dtype", with_tensor(R"("dtype":"I32","shape":[1],"data_offsets":[0,4])"),
       R"(f: tensor "a" has dtype "I32", must be BF16, F16, F32 or F64)"},
      {"dtype is a number", with_tensor(R"("dtype":32,"shape":[1],"data_offsets":[0,4])"),
       R"(f: tensor "a" has dtype number, must be BF16, F16, F32 or F64)"},
      {"shape is a number", with_tensor(R"("dtype":"F32","shape":1,"data_offsets":[0,4])"),
       R"(f: tensor "a": shape must be an array of whole numbers from 0 to 2^63-1)"},
      {"negative extent", with_tensor(R"("dtype":"F32","shape":[-1],"data_offsets":[0,4])"),
       R"(f: tensor "a": shape must be an array of whole numbers from 0 to 2^63-1)"},
      {"broken extent", with_tensor(R"("dtype":"F32","shape":[1.0],"data_offsets":[0,4])"),
       R"(f: tensor "a": shape must be an array of whole numbers from 0 to 2^63-1)"},
      {"extent 2^63", with_tensor(R"("dtype":"F32","shape":[9223372036854775808],"data_offsets":[0,4])"),
       R"(f: tensor "a": shape must be an array of whole numbers from 0 to 2^63-1)"},
      {"extents multiply to 2^64 + 1 elements",
       with_tensor(R"("dtype":"BF16","shape":[274177,67280421310721],"data_offsets":[0,2])"),
       R"(f: tensor "a": shape [274177, 67280421310721] has more than 2^63-1 bytes)"},
      {"extents multiply to 2^62 elements of 4 bytes",
       with_tensor(R"("dtype":"F32","shape":[2147483648,2147483648],"data_offsets":[0,4])"),
       R"(f: tensor "a": shape [2147483648, 2147483648] has more than 2^63-1 bytes)"},
      {"extents overflow before a zero",
       with_tensor(R"("dtype":"F32","shape":[4294967296,4294967296,0],"data_offsets":[0,0])"),
       R"(f: tensor "a": shape [4294967296, 4294967296, 0] has more than 2^63-1 bytes)"},
      {"one offset", with_tensor(R"("dtype":"F32","shape":[1],"data_offsets":[4])"),
       R"(f: tensor "a": data_offsets must be two whole numbers, [begin, end])"},
      {"negative offset", with_tensor(R"("dtype":"F32","shape":[1],"data_offsets":[-4,0])"),
       R"(f: tensor "a": data_offsets must be two whole numbers, [begin, end])"},
      {"offset beyond 64 bits",
       with_tensor(R"("dtype":"F32","shape":[1],"data_offsets":[0,18446744073709551620])"),
       R"(f: tensor "a": data_offsets must be two whole numbers, [begin, end])"},
      {"offsets reversed", with_tensor(R"("dtype":"F32","shape":[1],"data_offsets":[4,0])"),
       R"(f: tensor "a": data_offsets [4, 0] end before they begin)"},
      {"shape larger than offsets", with_tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,4])"),
       R"(f: tensor "a": data_offsets [0, 4] hold 4 bytes, F32 [2] needs 8)"},
      {"shape smaller than offsets", with_tensor(R"("dtype":"F16","shape":[1],"data_offsets":[0,4])"),
       R"(f: tensor "a": data_offsets [0, 4] hold 4 bytes, F16 [1] needs 2)"},
      {"overlap", file_of(two_floats + "3,7]}}", "1234567"),
       R"(f: tensor "b" begins at data offset 3, inside tensor "a", which ends at data offset 4)"},
      {"the same place twice", file_of(two_floats + "0,4]}}", "1234"),
       R"(f: tensor "b" begins at data offset 0, inside tensor "a", which ends at data offset 4)"},
      {"gap", file_of(two_floats + "5,9]}}", "123456789"),
       R"(f: tensor "b" begins at data offset 5, leaving a gap after tensor "a", which ends at data offset 4)"},
      {"gap before the first", with_tensor(R"("dtype":"F16","shape":[1],"data_offsets":[2,4])"),
       R"(f: tensor "a" begins at data offset 2, leaving a gap after the header, which ends at data offset 0)"},
      {"offsets near 2^64",
       with_tensor(R"("dtype":"F16","shape":[1],"data_offsets":[18446744073709551613,18446744073709551615])"),
       R"(f: tensor "a" begins at data offset 18446744073709551613, leaving a gap after the header, which ends at )"
       "data offset 0"},
      {"data truncated", file_of(two_floats + "4,8]}}", "1234567"),
       R"(f: tensor "b" ends at data offset 8, but the file ends at data offset 7 (byte 122): it is truncated, or the )"
       "header is wrong"},
      {"bytes behind the last tensor", file_of(two_floats + "4,8]}}", "123456789"),
       R"(f: bytes after tensor "b": the file must end at byte 123, it has 124 bytes)"},
      {"data without tensors", file_of("{}", "1"),
       "f: bytes after the header: the file must end at byte 10, it has 11 bytes"},
      {"a name of two lines", file_of(R"({"a\nb\u0007ü":1})", ""),
       R"(f: tensor "a\nb\u0007\u00fc" is a JSON number, must be an object)"},
  };
}

TEST(Safetensors, EveryDamageHasItsMessage) {
  for (const Damage& damage : every_damage())
    EXPECT_EQ(error_of(damage.bytes), damage.message) << damage.kind;
}

TEST(Safetensors, EveryTruncationIsRefused) {
  const ScratchFolder folder;
  const Tensor brain = tensor_of(Dtype::bf16, {2, 1}, {0x3f80, 0xff01});
  const Tensor single = tensor_of(Dtype::fp32, {1}, {0xdeadbeef});
  write_safetensors(folder.path() / "f", {{"who", "us"}}, {{"b", &brain}, {"s", &single}});
  const std::string whole = read_file(folder.path() / "f");
  ASSERT_EQ(error_of(whole), "");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_THAT(error_of(whole.substr(0, length)), HasSubstr("f: "))
        << length << " of " << whole.size() << " bytes";
  }
}

TEST(Safetensors, AFlippedHeaderBitIsRefusedOrReadsAsAnotherHeader) {
  const std::string whole = with_tensor(R"("dtype":"F32","shape":[1],"data_offsets":[0,4])");
  for (std::size_t bit = 0; bit < (whole.size() - 4) * 8; ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    try {
      // Only the tensor's name has another valid reading.
      EXPECT_FALSE(reader_of(damaged).tensors().contains("a")) << "bit " << bit;
    } catch (const FileError& error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    }
  }
}

TEST(Safetensors, LongNamesAreCutInMessages) {
  const std::string message = error_of(file_of(fmt::format(R"({{"{}":1}})", std::string(100'000, 'n')), ""));
  EXPECT_EQ(message,
            fmt::format(R"(f: tensor "{}"... is a JSON number, must be an object)", std::string(100, 'n')));
}

TEST(Safetensors, AskingForWhatIsNotThereIsAnError) {
  SafetensorsReader reader = reader_of(file_of(R"({"d":{"dtype":"F64","shape":[],"data_offsets":[0,8]},)"
                                               R"("f":{"dtype":"F32","shape":[],"data_offsets":[8,12]}})",
                                               "123456789012"));
  const auto message = [&](auto&& action) -> std::string {
    try {
      action();
    } catch (const FileError& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_EQ(message([&] { reader.read("x"); }), R"(f: has no tensor "x")");
  EXPECT_EQ(message([&] { reader.read("d"); }), R"(f: tensor "d" is F64, must be BF16, F16 or F32)");
  EXPECT_EQ(message([&] { reader.read_doubles("f"); }), R"(f: tensor "f" is F32, must be F64)");
}

TEST(Safetensors, FilesThatCannotBeOpenedAreNamed) {
  const ScratchFolder folder;
  const auto message = [](const std::filesystem::path& path) -> std::string {
    try {
      SafetensorsReader reader(path);
    } catch (const FileError& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_EQ(message(folder.path() / "none"),
            (folder.path() / "none").string() + ": cannot be opened: No such file or directory");
  EXPECT_EQ(message(folder.path()), folder.path().string() + ": is not a regular file");
}

TEST(Safetensors, AFileThatShrinksAfterOpeningIsAnError) {
  const ScratchFolder folder;
  write_file(folder.path() / "f", with_tensor(R"("dtype":"F32","shape":[1],"data_offsets":[0,4])"));
  SafetensorsReader reader(folder.path() / "f");
  std::filesystem::resize_file(folder.path() / "f", std::filesystem::file_size(folder.path() / "f") - 1);
  EXPECT_THROW(reader.read("a"), FileError);
}

TEST(Safetensors, WhatTheFormatCannotHoldIsNotWritten) {
  const ScratchFolder folder;
  const Tensor tensor(Dtype::fp32, {1});
  EXPECT_THROW(write_safetensors(folder.path() / "f", {}, {{"__metadata__", &tensor}}),
               std::invalid_argument);
  EXPECT_THROW(write_safetensors(folder.path() / "f", {}, {{"\xff", &tensor}}), std::invalid_argument);
  EXPECT_THROW(write_safetensors(folder.path() / "f", {{"k", "\xff"}}, {}), std::invalid_argument);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace mhcheck::golden
