#pragma once

#include <string>
#include <vector>

#include "kernels/codeobject/byte_view.h"
#include "kernels/codeobject/kernel_info.h"

namespace mhcheck::codeobject {

struct Metadata {
  std::string target;  ///< "amdgcn-amd-amdhsa--gfx950"; may be empty
  std::vector<Kernel>
      kernels;  ///< what the metadata says of them; descriptors and addresses are not filled in
  std::vector<std::string> symbols;  ///< of each kernel: the name of its descriptor's symbol, "foo.kd"
};

/// Reads the MessagePack document of the AMDGPU metadata note (LLVM's AMDGPU usage guide, "Code Object V3
/// Metadata" to V6). Throws CodeObjectError.
Metadata parse_metadata(const ByteView& document);

}  // namespace mhcheck::codeobject
