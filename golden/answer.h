// The right answer of a case as golden files keep it, from the certified reference.
#pragma once

#include "golden/case_file.h"
#include "reference/base/case.h"
#include "reference/base/tensor.h"
#include "reference/reference.h"

namespace mhcheck::golden {

// Throws what reference::Reference throws. Uses all cores; the same arguments give the same bits.
Answer answer_of(const Case& c, const TensorMap& inputs, const reference::ReferenceOptions& options);

}  // namespace mhcheck::golden
