#pragma once

#include <string>

#include "engine/model/model_report.h"

namespace kantha::cli {

/// Lines for `kantha model inspect`: what the file is, what it costs to serve, and whether it runs.
/// `refusal` is why it does not, `chat_refusal` why its template is of no use; empty: it does, and
/// it is. Pure.
std::string model_text(const model::ModelReport& report, const std::string& refusal,
                       const std::string& chat_refusal = {});

}  // namespace kantha::cli
