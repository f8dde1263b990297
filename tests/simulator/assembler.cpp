#include "tests/simulator/assembler.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/MC/MCAsmBackend.h>
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCCodeEmitter.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstPrinter.h>
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

#include <cctype>
#include <cstring>
#include <functional>
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

const llvm::Triple& triple_of_gpu() {
  static const llvm::Triple kTriple("amdgcn-amd-amdhsa");
  return kTriple;
}

using Object = llvm::SmallString<0>;
using Complaint = std::function<void(const llvm::SMDiagnostic&)>;

// Assembles for gfx950, complaint after complaint.
Object assemble_object(const std::string& text, Complaint complain) {
  const llvm::Triple& triple = triple_of_gpu();
  const llvm::Target& gpu = target(triple);
  const llvm::MCTargetOptions options;
  const std::unique_ptr<llvm::MCRegisterInfo> registers(gpu.createMCRegInfo(triple));
  const std::unique_ptr<llvm::MCAsmInfo> assembly(gpu.createMCAsmInfo(*registers, triple, options));
  const std::unique_ptr<llvm::MCInstrInfo> instructions(gpu.createMCInstrInfo());
  const std::unique_ptr<llvm::MCSubtargetInfo> subtarget(gpu.createMCSubtargetInfo(triple, "gfx950", ""));

  llvm::SourceMgr sources;
  sources.setDiagHandler(
      [](const llvm::SMDiagnostic& diagnostic, void* to) { (*static_cast<Complaint*>(to))(diagnostic); },
      &complain);
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(text), llvm::SMLoc());

  llvm::MCContext context(triple, assembly.get(), registers.get(), subtarget.get(), &sources);
  const std::unique_ptr<llvm::MCObjectFileInfo> object_info(
      gpu.createMCObjectFileInfo(context, /*PIC=*/true));
  context.setObjectFileInfo(object_info.get());

  Object object;
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
  parser->Run(/*NoInitialTextSection=*/false);
  return object;
}

std::string without_suffix(std::string name) {
  for (const char* suffix : {"_e32", "_e64", "_sdwa", "_dpp"}) {
    if (name.ends_with(suffix)) return name.substr(0, name.size() - std::strlen(suffix));
  }
  return name;
}

// Of every opcode of the target, for whatever GPU, and first words of its pseudo instructions.
std::set<std::string> names_of_all_opcodes() {
  const llvm::Triple& triple = triple_of_gpu();
  const llvm::Target& gpu = target(triple);
  const llvm::MCTargetOptions options;
  const std::unique_ptr<llvm::MCRegisterInfo> registers(gpu.createMCRegInfo(triple));
  const std::unique_ptr<llvm::MCAsmInfo> assembly(gpu.createMCAsmInfo(*registers, triple, options));
  const std::unique_ptr<llvm::MCInstrInfo> instructions(gpu.createMCInstrInfo());
  const std::unique_ptr<llvm::MCInstPrinter> printer(
      gpu.createMCInstPrinter(triple, 0, *assembly, *instructions, *registers));
  std::set<std::string> names;
  for (unsigned opcode = 0; opcode < instructions->getNumOpcodes(); ++opcode) {
    llvm::MCInst instruction;
    instruction.setOpcode(opcode);
    const char* name = printer->getMnemonic(instruction).first;
    // Pseudo instructions are named in capitals or not at all.
    if (name && std::islower(static_cast<unsigned char>(*name)))
      names.insert(llvm::StringRef(name).take_until([](char c) { return c == ' ' || c == '\t'; }).str());
  }
  return names;
}

}  // namespace

std::set<std::string> gfx950_mnemonics() {
  const std::set<std::string> names = names_of_all_opcodes();
  std::string text;
  for (const std::string& name : names) text += name + "\n";
  std::set<std::string> unknown;
  assemble_object(text, [&](const llvm::SMDiagnostic& diagnostic) {
    const llvm::StringRef message = diagnostic.getMessage();
    if (message.starts_with("instruction not supported on this GPU") || message == "invalid instruction" ||
        message.contains("variant of this instruction is not supported")) {
      unknown.insert(diagnostic.getLineContents().trim().str());
    }
  });
  std::set<std::string> known;
  for (const std::string& name : names) {
    if (!unknown.contains(name)) known.insert(without_suffix(name));
  }
  return known;
}

std::vector<std::byte> assemble(const std::string& text) {
  std::string diagnostics;
  const Object object = assemble_object(text, [&](const llvm::SMDiagnostic& diagnostic) {
    diagnostics += diagnostic.getMessage().str() + ": " + diagnostic.getLineContents().str();
  });
  if (!diagnostics.empty()) throw std::invalid_argument(diagnostics);

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
