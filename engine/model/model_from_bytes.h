#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"
#include "engine/model/load_model.h"

/// Loading without a file: for tests, fuzzing and whoever maps memory by other means.
namespace kantha::model {

/// As load_model, of a file's bytes, which must outlive the result; its `file` is null. Any thread.
Result<LoadedModel> model_from_bytes(std::span<const std::byte> bytes);

}  // namespace kantha::model
