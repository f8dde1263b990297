#include "golden/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <fstream>
#include <optional>
#include <system_error>

#include "golden/atomic_file.h"
#include "golden/strict_json.h"

namespace mhcheck::golden {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

static_assert(std::endian::native == std::endian::little,
              "tensors are copied to and from the file as they are");

constexpr std::string_view kMetadataKey = "__metadata__";
constexpr std::uint64_t kLengthBytes = 8;
// The limit of the stock implementation: a longer header is a broken length.
constexpr std::uint64_t kLongestHeader = 100'000'000;
constexpr std::uint64_t kAlignment = 8;

struct FileDtypeRow {
  FileDtype dtype;
  std::string_view name;
  std::uint64_t bytes;
  std::optional<Dtype> storage;
};

constexpr std::array kFileDtypes{
    FileDtypeRow{FileDtype::bf16, "BF16", 2, Dtype::bf16},
    FileDtypeRow{FileDtype::fp16, "F16", 2, Dtype::fp16},
    FileDtypeRow{FileDtype::fp32, "F32", 4, Dtype::fp32},
    FileDtypeRow{FileDtype::fp64, "F64", 8, std::nullopt},
};

const FileDtypeRow& row_of(FileDtype dtype) {
  return *std::find_if(kFileDtypes.begin(), kFileDtypes.end(),
                       [&](const FileDtypeRow& row) { return row.dtype == dtype; });
}

FileDtype parse_dtype(const std::string& file, const std::string& tensor, const json& value) {
  if (value.is_string()) {
    for (const FileDtypeRow& row : kFileDtypes) {
      if (value.get_ref<const std::string&>() == row.name) return row.dtype;
    }
  }
  const std::string found =
      value.is_string() ? in_quotes(value.get_ref<const std::string&>()) : value.type_name();
  throw FileError(file, fmt::format("tensor {} has dtype {}, must be BF16, F16, F32 or F64", tensor, found));
}

Extents parse_shape(const std::string& file, const std::string& tensor, const json& value) {
  const auto refuse = [&] {
    throw FileError(
        file, fmt::format("tensor {}: shape must be an array of whole numbers from 0 to 2^63-1", tensor));
  };
  if (!value.is_array()) refuse();
  Extents shape;
  for (const json& extent : value) {
    if (!extent.is_number_unsigned() || extent.get<std::uint64_t>() > INT64_MAX) refuse();
    shape.push_back(extent.get<std::int64_t>());
  }
  return shape;
}

// Refuses shapes whose extents multiply to more than 2^63-1 bytes. Zero extents do not make such a shape
// smaller: element_count must not overflow on the way to 0.
std::uint64_t checked_byte_count(const std::string& file, const std::string& tensor,
                                 const StoredTensor& stored) {
  std::uint64_t without_zeros = row_of(stored.dtype).bytes;
  for (const std::int64_t extent : stored.shape) {
    const auto factor = static_cast<std::uint64_t>(std::max<std::int64_t>(extent, 1));
    if (without_zeros > INT64_MAX / factor) {
      throw FileError(file, fmt::format("tensor {}: shape {} has more than 2^63-1 bytes", tensor,
                                        to_string(stored.shape)));
    }
    without_zeros *= factor;
  }
  return element_count(stored.shape) * row_of(stored.dtype).bytes;
}

StoredTensor parse_tensor(const std::string& file, const std::string& tensor, const json& entry) {
  require_fields(file, fmt::format("tensor {}", tensor), entry, {"dtype", "shape", "data_offsets"});
  StoredTensor stored;
  stored.dtype = parse_dtype(file, tensor, entry["dtype"]);
  stored.shape = parse_shape(file, tensor, entry["shape"]);

  const json& offsets = entry["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
      !offsets[1].is_number_unsigned()) {
    throw FileError(file,
                    fmt::format("tensor {}: data_offsets must be two whole numbers, [begin, end]", tensor));
  }
  stored.begin = offsets[0].get<std::uint64_t>();
  stored.end = offsets[1].get<std::uint64_t>();
  if (stored.begin > stored.end) {
    throw FileError(file, fmt::format("tensor {}: data_offsets [{}, {}] end before they begin", tensor,
                                      stored.begin, stored.end));
  }
  const std::uint64_t bytes = checked_byte_count(file, tensor, stored);
  if (stored.end - stored.begin != bytes) {
    throw FileError(file, fmt::format("tensor {}: data_offsets [{}, {}] hold {} bytes, {} {} needs {}",
                                      tensor, stored.begin, stored.end, stored.end - stored.begin,
                                      name_of(stored.dtype), to_string(stored.shape), bytes));
  }
  return stored;
}

Metadata parse_metadata(const std::string& file, const json& value) {
  if (!value.is_object()) {
    throw FileError(
        file, fmt::format("__metadata__ is a JSON {}, must be an object of strings", value.type_name()));
  }
  Metadata metadata;
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string()) {
      throw FileError(file, fmt::format("__metadata__: {} is a JSON {}, must be a string", in_quotes(key),
                                        text.type_name()));
    }
    metadata[key] = text.get<std::string>();
  }
  return metadata;
}

// Tensors must follow one another without gap or overlap from the first byte of the data to the last.
void check_layout(const std::string& file, const std::map<std::string, StoredTensor>& tensors,
                  std::uint64_t data_begin, std::uint64_t data_bytes) {
  std::vector<const std::pair<const std::string, StoredTensor>*> in_file_order;
  for (const auto& tensor : tensors) in_file_order.push_back(&tensor);
  std::sort(in_file_order.begin(), in_file_order.end(), [](const auto* a, const auto* b) {
    return std::pair(a->second.begin, a->second.end) < std::pair(b->second.begin, b->second.end);
  });

  std::string previous = "the header";
  std::uint64_t previous_end = 0;
  for (const auto* tensor : in_file_order) {
    const std::string name = "tensor " + in_quotes(tensor->first);
    const std::uint64_t begin = tensor->second.begin;
    if (begin != previous_end) {
      // Offsets are any 64-bit numbers so far, and data_begin + begin may be none: they are told as they
      // stand.
      throw FileError(
          file, fmt::format("{} begins at data offset {}, {} {}, which ends at data offset {}", name, begin,
                            begin < previous_end ? "inside" : "leaving a gap after", previous, previous_end));
    }
    if (tensor->second.end > data_bytes) {
      throw FileError(
          file, fmt::format("{} ends at data offset {}, but the file ends at data offset {} (byte {}): it is "
                            "truncated, or the header is wrong",
                            name, tensor->second.end, data_bytes, data_begin + data_bytes));
    }
    previous = name;
    previous_end = tensor->second.end;
  }
  if (previous_end < data_bytes) {
    throw FileError(file, fmt::format("bytes after {}: the file must end at byte {}, it has {} bytes",
                                      previous, data_begin + previous_end, data_begin + data_bytes));
  }
}

std::unique_ptr<std::istream> open_for_reading(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    throw FileError(path, "is not a regular file");
  }
  auto stream = std::make_unique<std::ifstream>(path, std::ios::binary);
  if (!*stream) {
    throw FileError(path, fmt::format("cannot be opened: {}", std::generic_category().message(errno)));
  }
  return stream;
}

std::string header_text(const Metadata& metadata,
                        const std::vector<const TensorRefs::value_type*>& in_file_order) {
  ordered_json header = ordered_json::object();
  if (!metadata.empty()) header[std::string(kMetadataKey)] = metadata;
  std::uint64_t offset = 0;
  for (const auto* named : in_file_order) {
    const auto& [name, tensor] = *named;
    const std::uint64_t end = offset + tensor->bytes().size();
    header[name] = {{"dtype", name_of(file_dtype_of(tensor->dtype()))},
                    {"shape", tensor->shape()},
                    {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const json::type_error&) {
    throw std::invalid_argument("safetensors: a tensor name or a metadata text is not UTF-8");
  }
  text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  if (text.size() > kLongestHeader)
    throw std::invalid_argument("safetensors: the header exceeds 100,000,000 bytes");
  return text;
}

}  // namespace

std::string_view name_of(FileDtype dtype) { return row_of(dtype).name; }

FileDtype file_dtype_of(Dtype dtype) {
  return std::find_if(kFileDtypes.begin(), kFileDtypes.end(),
                      [&](const FileDtypeRow& row) { return row.storage == dtype; })
      ->dtype;
}

SafetensorsReader::SafetensorsReader(const std::filesystem::path& path)
    : SafetensorsReader(open_for_reading(path), path.string()) {}

SafetensorsReader::SafetensorsReader(std::unique_ptr<std::istream> stream, std::string name)
    : stream_(std::move(stream)), file_(std::move(name)) {
  read_header();
}

void SafetensorsReader::read_header() {
  stream_->seekg(0, std::ios::end);
  const std::streamoff end = stream_->tellg();
  if (end < 0) throw FileError(file_, "cannot be read: its size is unknown");
  const auto file_bytes = static_cast<std::uint64_t>(end);
  if (file_bytes < kLengthBytes) {
    throw FileError(
        file_, fmt::format("has {} bytes, a safetensors file begins with the 8 bytes of its header's length",
                           file_bytes));
  }
  std::uint64_t header_bytes = 0;
  read_bytes(0, std::as_writable_bytes(std::span(&header_bytes, 1)));
  const std::uint64_t longest = std::min(file_bytes - kLengthBytes, kLongestHeader);
  if (header_bytes > longest) {
    throw FileError(
        file_, fmt::format("header length {} at byte 0 is wrong or the file is truncated: the file has {} "
                           "bytes, so it can be {} at most",
                           header_bytes, file_bytes, longest));
  }
  std::string text(header_bytes, '\0');
  read_bytes(kLengthBytes, std::as_writable_bytes(std::span(text)));
  if (!text.starts_with('{')) throw FileError(file_, "the header, from byte 8 on, must begin with '{'");

  const json header = parse_strict_json(file_, text, kLengthBytes);
  for (const auto& [name, entry] : header.items()) {
    if (name == kMetadataKey) {
      metadata_ = parse_metadata(file_, entry);
    } else {
      tensors_[name] = parse_tensor(file_, in_quotes(name), entry);
    }
  }
  data_begin_ = kLengthBytes + header_bytes;
  check_layout(file_, tensors_, data_begin_, file_bytes - data_begin_);
}

Tensor SafetensorsReader::read(const std::string& name) {
  const StoredTensor& stored = find(name);
  const std::optional<Dtype> dtype = row_of(stored.dtype).storage;
  if (!dtype)
    throw FileError(file_, fmt::format("tensor {} is F64, must be BF16, F16 or F32", in_quotes(name)));
  Tensor tensor(*dtype, stored.shape);
  read_bytes(data_begin_ + stored.begin, tensor.bytes());
  return tensor;
}

std::vector<double> SafetensorsReader::read_doubles(const std::string& name) {
  const StoredTensor& stored = find(name);
  if (stored.dtype != FileDtype::fp64) {
    throw FileError(file_,
                    fmt::format("tensor {} is {}, must be F64", in_quotes(name), name_of(stored.dtype)));
  }
  std::vector<double> values(element_count(stored.shape));
  read_bytes(data_begin_ + stored.begin, std::as_writable_bytes(std::span(values)));
  return values;
}

const StoredTensor& SafetensorsReader::find(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) throw FileError(file_, fmt::format("has no tensor {}", in_quotes(name)));
  return found->second;
}

void SafetensorsReader::read_bytes(std::uint64_t offset, std::span<std::byte> bytes) {
  stream_->seekg(static_cast<std::streamoff>(offset));
  stream_->read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!*stream_) {
    stream_->clear();
    throw FileError(file_, fmt::format("{} bytes at byte {} cannot be read: {}", bytes.size(), offset,
                                       "the file has changed since it was opened, or the disk fails"));
  }
}

void write_safetensors(const std::filesystem::path& path, const Metadata& metadata,
                       const TensorRefs& tensors) {
  if (tensors.contains(std::string(kMetadataKey))) {
    throw std::invalid_argument("safetensors: no tensor can be named __metadata__");
  }
  std::vector<const TensorRefs::value_type*> in_file_order;
  for (const auto& tensor : tensors) in_file_order.push_back(&tensor);
  std::stable_sort(in_file_order.begin(), in_file_order.end(), [](const auto* a, const auto* b) {
    return size_of(a->second->dtype()) > size_of(b->second->dtype());
  });
  const std::string header = header_text(metadata, in_file_order);
  const std::uint64_t header_bytes = header.size();

  AtomicFile file(path);
  file.write(std::as_bytes(std::span(&header_bytes, 1)));
  file.write(header);
  for (const auto* tensor : in_file_order) file.write(tensor->second->bytes());
  file.commit();
}

}  // namespace mhcheck::golden
