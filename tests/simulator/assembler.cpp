#include "tests/simulator/assembler.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/MC/MCAsmBackend.h>
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCCodeEmitter.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCObjectFileInfo.h>
#include <llvm/MC/MCObjectWriter.h>
#include <llvm/MC/MCParser/MCAsmParser.h>
#include <llvm/MC/MCParser/MCTargetAsmParser.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCStreamer.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/TargetSelect.h>

#include <cstring>
#include <memory>
#include <stdexcept>

namespace mhcheck::simulator::testing {
namespace {

const llvm::Target& target(const llvm::Triple& triple) {
  static const llvm::Target* found = [&] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmParser();
    std::string error;
    return llvm::TargetRegistry::lookupTarget(triple, error);
  }();
  return *found;
}

}  // namespace

std::vector<std::byte> assemble(const std::string& text) {
  const llvm::Triple triple("amdgcn-amd-amdhsa");
  const llvm::Target& gpu = target(triple);
  const llvm::MCTargetOptions options;
  const std::unique_ptr<llvm::MCRegisterInfo> registers(gpu.createMCRegInfo(triple));
  const std::unique_ptr<llvm::MCAsmInfo> assembly(gpu.createMCAsmInfo(*registers, triple, options));
  const std::unique_ptr<llvm::MCInstrInfo> instructions(gpu.createMCInstrInfo());
  const std::unique_ptr<llvm::MCSubtargetInfo> subtarget(gpu.createMCSubtargetInfo(triple, "gfx950", ""));

  llvm::SourceMgr sources;
  std::string diagnostics;
  sources.setDiagHandler(
      [](const llvm::SMDiagnostic& diagnostic, void* to) {
        *static_cast<std::string*>(to) +=
            diagnostic.getMessage().str() + ": " + diagnostic.getLineContents().str();
      },
      &diagnostics);
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(text), llvm::SMLoc());

  llvm::MCContext context(triple, assembly.get(), registers.get(), subtarget.get(), &sources);
  const std::unique_ptr<llvm::MCObjectFileInfo> object_info(
      gpu.createMCObjectFileInfo(context, /*PIC=*/true));
  context.setObjectFileInfo(object_info.get());

  llvm::SmallString<0> object;
  llvm::raw_svector_ostream stream(object);
  std::unique_ptr<llvm::MCAsmBackend> backend(gpu.createMCAsmBackend(*subtarget, *registers, options));
  std::unique_ptr<llvm::MCObjectWriter> writer = backend->createObjectWriter(stream);
  std::unique_ptr<llvm::MCCodeEmitter> emitter(gpu.createMCCodeEmitter(*instructions, context));
  const std::unique_ptr<llvm::MCStreamer> streamer(gpu.createMCObjectStreamer(
      triple, context, std::move(backend), std::move(writer), std::move(emitter), *subtarget));
  const std::unique_ptr<llvm::MCAsmParser> parser(createMCAsmParser(sources, context, *streamer, *assembly));
  const std::unique_ptr<llvm::MCTargetAsmParser> target_parser(
      gpu.createMCAsmParser(*subtarget, *parser, *instructions, options));
  parser->setTargetParser(*target_parser);
  if (parser->Run(/*NoInitialTextSection=*/false)) throw std::invalid_argument(diagnostics);

  auto file = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(object, "assembled"));
  if (!file) throw std::invalid_argument(llvm::toString(file.takeError()));
  for (const llvm::object::SectionRef& section : (*file)->sections()) {
    if (llvm::cantFail(section.getName()) != ".text") continue;
    const llvm::StringRef contents = llvm::cantFail(section.getContents());
    std::vector<std::byte> bytes(contents.size());
    std::memcpy(bytes.data(), contents.data(), contents.size());
    return bytes;
  }
  throw std::invalid_argument("no .text in the assembled object");
}

}  // namespace mhcheck::simulator::testing
