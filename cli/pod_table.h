#pragma once

#include <string>
#include <vector>

#include "operator/local/world_view.h"

/// Worlds as text for terminals and logs. Pure; any thread.
namespace kantha::cli {

/// Rows with columns as wide as their widest cell, two blanks between; cells that look like numbers
/// are set to the right. The last column is not padded.
std::string align_columns(const std::vector<std::vector<std::string>>& rows);

/// Text from outside on one line, without anything that a terminal obeys.
std::string printable(const std::string& text);

/// Cuts every line to `width` columns (0: not at all); UTF-8 sequences stay whole.
std::string cut_lines(const std::string& text, std::size_t width);

/// The first `count` lines.
std::string first_lines(const std::string& text, std::size_t count);

/// One world's head line and its pods.
std::string pod_table(const local::WorldView& view);

/// One line for each world; `wide` adds revision, conditions and the pods of each.
std::string world_table(const std::vector<local::WorldView>& worlds, bool wide);

/// What became different between two looks, one line each, for output that is no terminal. Numbers
/// that change all the time (streams, KV, tok/s) are no news.
std::vector<std::string> changes_between(const local::WorldView& before,
                                         const local::WorldView& now);

}  // namespace kantha::cli
