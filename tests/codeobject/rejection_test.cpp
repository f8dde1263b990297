// What is wrong with a file is said in one line, by kind, place and remedy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <llvm/BinaryFormat/ELF.h>

#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>

#include "kernels/codeobject/metadata.h"
#include "tests/codeobject/test_objects.h"

namespace mhcheck::codeobject {
namespace {

namespace elf = llvm::ELF;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Bytes = std::vector<std::byte>;

// An object taken apart far enough to damage one field.
struct Object {
  Bytes bytes = object_bytes("globals.hsaco");

  template <class Record>
  Record& at(std::uint64_t offset) {
    return *reinterpret_cast<Record*>(bytes.data() + offset);
  }
  elf::Elf64_Ehdr& header() { return at<elf::Elf64_Ehdr>(0); }
  elf::Elf64_Phdr& segment(std::uint32_t type, int index = 0) {
    for (int i = 0; i < header().e_phnum; ++i) {
      auto& candidate =
          at<elf::Elf64_Phdr>(header().e_phoff + static_cast<std::uint64_t>(i) * sizeof(elf::Elf64_Phdr));
      if (candidate.p_type == type && index-- == 0) return candidate;
    }
    throw std::runtime_error("no such segment");
  }
  elf::Elf64_Dyn& dynamic(std::int64_t tag) {
    for (std::uint64_t offset = segment(elf::PT_DYNAMIC).p_offset;; offset += sizeof(elf::Elf64_Dyn)) {
      if (at<elf::Elf64_Dyn>(offset).d_tag == tag) return at<elf::Elf64_Dyn>(offset);
    }
  }
  // The first segment lies at address 0 and offset 0, so addresses in it are offsets.
  elf::Elf64_Rela& relocation(std::uint32_t type) {
    for (std::uint64_t offset = dynamic(elf::DT_RELA).d_un.d_ptr;; offset += sizeof(elf::Elf64_Rela)) {
      if (at<elf::Elf64_Rela>(offset).getType() == type) return at<elf::Elf64_Rela>(offset);
    }
  }
  elf::Elf64_Sym& symbol(std::uint32_t index) {
    return at<elf::Elf64_Sym>(dynamic(elf::DT_SYMTAB).d_un.d_ptr + index * sizeof(elf::Elf64_Sym));
  }
  elf::Elf64_Sym& symbol(const std::string& name) {
    const auto* names = reinterpret_cast<const char*>(bytes.data()) + dynamic(elf::DT_STRTAB).d_un.d_ptr;
    for (std::uint32_t i = 0;; ++i) {
      if (name == names + symbol(i).st_name) return symbol(i);
    }
  }
  KernelDescriptor& descriptor() { return at<KernelDescriptor>(symbol("follow.kd").st_value); }
};

struct Row {
  const char* name;
  std::function<void(Object&)> damage;
  Reason reason;
  const char* message;
};

const Row kRows[] = {
    {"empty", [](Object& o) { o.bytes.clear(); }, Reason::kNotRecognised,
     "neither an ELF file nor an offload bundle"},
    {"text", [](Object& o) { o.bytes.assign(100, std::byte{'x'}); }, Reason::kNotRecognised,
     "should start with"},
    {"half_a_header", [](Object& o) { o.bytes.resize(40); }, Reason::kTruncated,
     "the ELF header needs 64 bytes"},
    {"elf32", [](Object& o) { o.bytes[elf::EI_CLASS] = std::byte{1}; }, Reason::kUnsupported,
     "must be 2 (64 bits)"},
    {"gfx942", [](Object& o) { o.bytes = object_bytes("gfx942.hsaco"); }, Reason::kWrongTarget,
     "code for gfx942, must be for gfx950: compile with --offload-arch=gfx950"},
    {"library_for_gfx942", [](Object& o) { o.bytes = object_bytes("gfx942.so"); }, Reason::kWrongTarget,
     "code for gfx942, must be for gfx950"},
    {"unknown_gpu", [](Object& o) { o.header().e_flags = 0x5f0; }, Reason::kWrongTarget, "0xf0"},
    {"host_program", [](Object& o) { o.bytes = read_file("/proc/self/exe"); }, Reason::kNotRecognised,
     "has no .hip_fatbin section"},
    {"relocatable", [](Object& o) { o.header().e_type = elf::ET_REL; }, Reason::kUnsupported,
     "ld.lld -shared"},
    {"old_version", [](Object& o) { o.bytes[elf::EI_ABIVERSION] = std::byte{1}; }, Reason::kUnsupported,
     "code object version 3, must be 4, 5 or 6"},
    {"no_load", [](Object& o) { o.header().e_phnum = 0; }, Reason::kCorrupt, "no segment to load"},
    {"program_headers_outside", [](Object& o) { o.header().e_phoff = ~std::uint64_t{0} - 8; },
     Reason::kTruncated, "program header table"},
    {"segments_overlap", [](Object& o) { o.segment(elf::PT_LOAD, 1).p_vaddr = 0x100; }, Reason::kCorrupt,
     "overlaps the one before it"},
    {"segment_past_the_file", [](Object& o) { o.segment(elf::PT_LOAD, 1).p_offset = 1 << 20; },
     Reason::kTruncated, "the segment at address"},
    {"segment_wraps", [](Object& o) { o.segment(elf::PT_LOAD, 3).p_memsz = ~std::uint64_t{0}; },
     Reason::kCorrupt, "an image may take"},
    {"segment_shrinks", [](Object& o) { o.segment(elf::PT_LOAD, 3).p_memsz = 8; }, Reason::kCorrupt,
     "bytes in the file and only 0x8 in memory"},
    {"odd_alignment", [](Object& o) { o.segment(elf::PT_LOAD, 1).p_align = 3000; }, Reason::kCorrupt,
     "power of two"},
    {"no_dynamic", [](Object& o) { o.segment(elf::PT_DYNAMIC).p_type = elf::PT_NULL; }, Reason::kCorrupt,
     "no dynamic table"},
    {"dynamic_outside", [](Object& o) { o.segment(elf::PT_DYNAMIC).p_vaddr = 0x999000; }, Reason::kCorrupt,
     "the dynamic table takes"},
    {"no_hash", [](Object& o) { o.dynamic(elf::DT_HASH).d_tag = 0x6fffff00; }, Reason::kCorrupt, "DT_HASH"},
    {"huge_hash", [](Object& o) { o.at<std::uint32_t>(o.dynamic(elf::DT_HASH).d_un.d_ptr + 4) = 0xffffffff; },
     Reason::kCorrupt, "the symbol table takes"},
    {"symbol_name_outside", [](Object& o) { o.symbol(1).st_name = 0x7fffffff; }, Reason::kCorrupt,
     "the name of symbol 1"},
    {"unknown_relocation",
     [](Object& o) { o.relocation(elf::R_AMDGPU_RELATIVE64).r_info = elf::R_AMDGPU_REL32; },
     Reason::kUnsupported,
     "has type 4, a loaded code object may have R_AMDGPU_ABS64 (3) and R_AMDGPU_RELATIVE64 (13)"},
    {"relocation_outside", [](Object& o) { o.relocation(elf::R_AMDGPU_RELATIVE64).r_offset = 0x12345678; },
     Reason::kCorrupt, "the target of a relocation"},
    {"relocation_symbol_outside",
     [](Object& o) { o.relocation(elf::R_AMDGPU_ABS64).setSymbolAndType(4711, elf::R_AMDGPU_ABS64); },
     Reason::kCorrupt, "uses symbol 4711"},
    {"undefined_symbol",
     [](Object& o) { o.symbol(o.relocation(elf::R_AMDGPU_ABS64).getSymbol()).st_shndx = elf::SHN_UNDEF; },
     Reason::kUnsupported, "zeroed is undefined"},
    {"half_a_relocation", [](Object& o) { o.dynamic(elf::DT_RELASZ).d_un.d_val = 25; }, Reason::kCorrupt,
     "the relocation table has 25 bytes"},
    {"relr", [](Object& o) { o.dynamic(elf::DT_RELA).d_tag = elf::DT_RELR; }, Reason::kUnsupported,
     "DT_RELR"},
    {"no_note", [](Object& o) { o.segment(elf::PT_NOTE).p_type = elf::PT_NULL; }, Reason::kCorrupt,
     "no AMDGPU metadata note"},
    {"note_outside", [](Object& o) { o.segment(elf::PT_NOTE).p_filesz = 1 << 30; }, Reason::kTruncated,
     "note segment"},
    {"note_too_long",
     [](Object& o) { o.at<elf::Elf64_Nhdr>(o.segment(elf::PT_NOTE).p_offset).n_descsz = 1 << 20; },
     Reason::kTruncated, "a note's content"},
    {"note_is_no_msgpack",
     [](Object& o) {
       o.bytes[o.segment(elf::PT_NOTE).p_offset + sizeof(elf::Elf64_Nhdr) + 8] = std::byte{0xc1};
     },
     Reason::kCorrupt, "not a MessagePack document"},
    {"descriptor_missing", [](Object& o) { o.symbol("follow.kd").st_shndx = elf::SHN_UNDEF; },
     Reason::kCorrupt, "kernel follow has no symbol follow.kd"},
    {"descriptor_outside", [](Object& o) { o.symbol("follow.kd").st_value = 0x10000000; }, Reason::kCorrupt,
     "the descriptor of kernel follow"},
    {"entry_outside", [](Object& o) { o.descriptor().kernel_code_entry_byte_offset = 1 << 28; },
     Reason::kCorrupt, "is not in executable code"},
    {"entry_in_data", [](Object& o) { o.descriptor().kernel_code_entry_byte_offset = 0; }, Reason::kCorrupt,
     "is not in executable code"},
    {"entry_misaligned", [](Object& o) { o.descriptor().kernel_code_entry_byte_offset += 4; },
     Reason::kCorrupt, "must be a multiple of 256"},
    {"argument_sizes_differ", [](Object& o) { o.descriptor().kernarg_size += 8; }, Reason::kCorrupt,
     "bytes of arguments by its descriptor"},
};

class Rejection : public testing::TestWithParam<Row> {};
INSTANTIATE_TEST_SUITE_P(EveryDamage, Rejection, testing::ValuesIn(kRows),
                         [](const auto& row) { return std::string(row.param.name); });

TEST_P(Rejection, IsOneClearLineOfTheRightKind) {
  Object object;
  ASSERT_NO_THROW(parse_code_objects(object.bytes, "file.co"));
  GetParam().damage(object);
  try {
    parse_code_objects(object.bytes, "file.co");
    FAIL() << "accepted";
  } catch (const CodeObjectError& error) {
    EXPECT_EQ(error.reason(), GetParam().reason) << error.what();
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("file.co"), HasSubstr(GetParam().message), Not(HasSubstr("\n"))));
  }
}

TEST(Rejection, AMissingFileIsNamed) {
  try {
    load_code_objects("/no/such/file.co");
    FAIL() << "accepted";
  } catch (const CodeObjectError& error) {
    EXPECT_EQ(error.reason(), Reason::kUnreadable);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("/no/such/file.co"), HasSubstr("No such file")));
  }
  EXPECT_THROW(load_code_objects("/"), CodeObjectError);
}

// Metadata made by hand: what the parser must refuse in a document that is well-formed MessagePack.
std::string metadata_refusal(const nlohmann::json& document) {
  const std::vector<std::uint8_t> packed = nlohmann::json::to_msgpack(document);
  try {
    parse_metadata(ByteView(std::as_bytes(std::span(packed)), "note"));
  } catch (const CodeObjectError& error) {
    return error.what();
  }
  return "accepted";
}

nlohmann::json kernel_metadata() {
  return {{".name", "k"},
          {".symbol", "k.kd"},
          {".kernarg_segment_size", 24},
          {".wavefront_size", 64},
          {".args",
           {{{".offset", 0}, {".size", 8}, {".value_kind", "global_buffer"}},
            {{".offset", 8}, {".size", 4}, {".value_kind", "by_value"}}}}};
}

TEST(MetadataRejection, NamesTheKernelAndTheArgument) {
  const auto refusal = [](const std::function<void(nlohmann::json&)>& damage) {
    nlohmann::json kernel = kernel_metadata();
    damage(kernel);
    return metadata_refusal({{"amdhsa.kernels", nlohmann::json::array({kernel})}});
  };
  using json = nlohmann::json;
  EXPECT_EQ(refusal([](json&) {}), "accepted");
  EXPECT_THAT(refusal([](json& k) { k.erase(".name"); }), HasSubstr("the metadata of kernel 0 has no .name"));
  EXPECT_THAT(refusal([](json& k) { k[".symbol"] = 3; }), HasSubstr("must be a string"));
  EXPECT_THAT(refusal([](json& k) { k[".name"] = "a\nb"; }), HasSubstr("no printable ASCII"));
  EXPECT_THAT(refusal([](json& k) { k[".wavefront_size"] = 32; }),
              HasSubstr("waves of 32 lanes, gfx950 has 64"));
  EXPECT_THAT(refusal([](json& k) { k[".kernarg_segment_size"] = -1; }),
              HasSubstr("no unsigned 32-bit integer"));
  EXPECT_THAT(refusal([](json& k) { k[".kernarg_segment_size"] = 1 << 30; }), HasSubstr("at most"));
  EXPECT_THAT(refusal([](json& k) { k[".args"][1][".offset"] = 22; }),
              HasSubstr("argument 1 of kernel k takes 4 bytes at offset 22, past the end of the 24 bytes"));
  EXPECT_THAT(refusal([](json& k) { k[".args"][1][".offset"] = 4; }), HasSubstr("arguments that overlap"));
  EXPECT_THAT(refusal([](json& k) { k[".args"] = "none"; }), HasSubstr("must be an array"));
  EXPECT_THAT(refusal([](json& k) { k[".args"][0] = 1; }), HasSubstr("must be a map"));
}

TEST(MetadataRejection, DeepNestingDoesNotReachTheStack) {
  const Bytes nested(1 << 20, std::byte{0x91});  // arrays of one array, a million deep
  try {
    parse_metadata(ByteView(nested, "note"));
    FAIL() << "accepted";
  } catch (const CodeObjectError& error) {
    EXPECT_THAT(error.what(), HasSubstr("nested more than 16 deep"));
  }
}

}  // namespace
}  // namespace mhcheck::codeobject
