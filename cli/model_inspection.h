#pragma once

#include <string>

/// What `kantha model inspect` finds out.
namespace kantha::cli {

struct ModelInspection {
  std::string text;     ///< lines for standard output; empty: this is no model at all
  std::string refusal;  ///< why an engine would not serve it, or not its chats; empty: it would
};

/// Reads a file or a folder, builds its tokenizer and renders a plain question with its template.
/// Any thread.
ModelInspection inspect_for_people(const std::string& path);

}  // namespace kantha::cli
