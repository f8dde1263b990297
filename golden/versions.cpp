#include "golden/versions.h"

namespace mhcheck::golden {

std::string_view program_version() { return MHCHECK_VERSION; }

}  // namespace mhcheck::golden
