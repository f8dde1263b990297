#include "kernels/codeobject/source_lines.h"

#include <fmt/format.h>
#include <llvm/DebugInfo/DIContext.h>
#include <llvm/DebugInfo/DWARF/DWARFContext.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>

#include <vector>

namespace mhcheck::codeobject {

struct SourceLines::Reader {
  std::vector<std::byte> file;
  bool is_open = false;
  std::unique_ptr<llvm::object::ObjectFile> object;
  std::unique_ptr<llvm::DWARFContext> dwarf;

  void open() {
    is_open = true;
    const llvm::StringRef bytes(reinterpret_cast<const char*>(file.data()), file.size());
    auto parsed = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(bytes, "code object"));
    if (!parsed) {  // debug lines are a help, never a condition
      llvm::consumeError(parsed.takeError());
      return;
    }
    object = std::move(*parsed);
    const auto ignore = [](llvm::Error error) { llvm::consumeError(std::move(error)); };
    dwarf = llvm::DWARFContext::create(*object, llvm::DWARFContext::ProcessDebugRelocations::Process, nullptr,
                                       "", ignore, ignore);
  }
};

SourceLines::SourceLines(std::span<const std::byte> elf) : reader_(std::make_unique<Reader>()) {
  reader_->file.assign(elf.begin(), elf.end());
}
SourceLines::~SourceLines() = default;

std::string SourceLines::at(std::uint64_t address) {
  if (!reader_->is_open) reader_->open();
  if (!reader_->dwarf) return {};
  const llvm::DILineInfoSpecifier wanted(llvm::DILineInfoSpecifier::FileLineInfoKind::RelativeFilePath);
  // Linked code objects have one address space; their lines are not tied to a section.
  const llvm::DIInliningInfo frames = reader_->dwarf->getInliningInfoForAddress(
      {address, llvm::object::SectionedAddress::UndefSection}, wanted);
  std::string text;
  for (unsigned i = 0; i < frames.getNumberOfFrames(); ++i) {
    const llvm::DILineInfo& line = frames.getFrame(i);
    if (line.Line == 0 || line.FileName == llvm::DILineInfo::BadString) continue;
    if (!text.empty()) text += " inlined at ";
    text += fmt::format("{}:{}", line.FileName, line.Line);
  }
  return text;
}

}  // namespace mhcheck::codeobject
