#include "cli/pod_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace kantha::cli {
namespace {

using local::PodView;
using local::WorldView;

/// Columns that a text takes; every code point counts as one.
std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

bool is_numeric(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789.-/") == std::string_view::npos;
}

std::string streams_text(std::int64_t streams) {
  return streams == local::kUnknownStreams ? "-" : std::to_string(streams);
}

std::string ready_of(const WorldView& view) {
  if (view.is_asleep()) return "asleep";
  return fmt::format("{}/{}", view.counts.available, view.counts.wanted);
}

std::vector<std::string> pod_row(const PodView& pod) {
  const bool has_engine = pod.pid != 0;
  return {pod.name,
          pod.phase,
          std::to_string(pod.restarts),
          streams_text(pod.streams),
          has_engine ? fmt::format("{:.0f}", pod.kv_used * 100) : "-",
          has_engine ? fmt::format("{:.1f}", pod.tokens_per_second) : "-",
          printable(pod.message)};
}

std::vector<std::string> pod_head() {
  return {"POD", "PHASE", "RESTARTS", "STREAMS", "KV%", "TOK/S", "MESSAGE"};
}

std::string pod_line(const PodView& pod) {
  std::string out = pod.name + ": " + pod.phase;
  if (!pod.message.empty()) out += " (" + printable(pod.message) + ")";
  if (pod.restarts > 0) out += fmt::format(", {} restarts", pod.restarts);
  return out;
}

bool is_news(const PodView& before, const PodView& now) {
  return before.phase != now.phase || before.restarts != now.restarts;
}

}  // namespace

std::string printable(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20 || byte == 0x7F ? ' ' : c;
  }
  return out;
}

std::string align_columns(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], columns_of(row[i]));
    }
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string pad(widths[i] - columns_of(row[i]), ' ');
      if (i > 0) line += "  ";
      line += is_numeric(row[i]) ? pad + row[i] : row[i] + pad;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

std::string cut_lines(const std::string& text, std::size_t width) {
  if (width == 0) return text;
  std::string out;
  std::size_t column = 0;
  for (const char c : text) {
    if (c == '\n') {
      column = 0;
    } else if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) {
      ++column;
    }
    if (c == '\n' || column <= width) out += c;
  }
  return out;
}

std::string first_lines(const std::string& text, std::size_t count) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < count && at < text.size(); ++i) {
    const std::size_t end = text.find('\n', at);
    at = end == std::string::npos ? text.size() : end + 1;
  }
  return text.substr(0, at);
}

std::string pod_table(const WorldView& view) {
  std::vector<std::vector<std::string>> rows = {pod_head()};
  for (const PodView& pod : view.pods) rows.push_back(pod_row(pod));
  return fmt::format("{}  {}  {}  {}{}\n", view.name, printable(view.model), view.endpoint,
                     ready_of(view), view.is_asleep() ? "" : " ready") +
         align_columns(rows);
}

std::string world_table(const std::vector<WorldView>& worlds, bool wide) {
  std::vector<std::vector<std::string>> rows = {
      {"NAME", "READY", "UPDATED", "STREAMS", "ENDPOINT", "MODEL"}};
  if (wide) rows[0].insert(rows[0].end(), {"REVISION", "PROGRESSING", "DEGRADED"});
  std::string details;
  for (const WorldView& view : worlds) {
    std::int64_t streams = view.pods.empty() ? local::kUnknownStreams : 0;
    for (const PodView& pod : view.pods) {
      streams = pod.streams == local::kUnknownStreams ? pod.streams : streams + pod.streams;
    }
    rows.push_back({view.name, ready_of(view), std::to_string(view.counts.updated),
                    streams_text(streams), view.endpoint, printable(view.model)});
    if (!wide) continue;
    const auto reason = [&](const char* type) {
      return std::string(serving::condition_status_name(view.status_of(type)));
    };
    rows.back().insert(rows.back().end(),
                       {view.target_revision, reason("Progressing"), reason("Degraded")});
    details += "\n" + pod_table(view);
  }
  return align_columns(rows) + details;
}

std::vector<std::string> changes_between(const WorldView& before, const WorldView& now) {
  std::vector<std::string> out;
  std::map<std::string, const PodView*> old;
  for (const PodView& pod : before.pods) old[pod.name] = &pod;
  for (const PodView& pod : now.pods) {
    const auto found = old.find(pod.name);
    if (found == old.end() || is_news(*found->second, pod)) out.push_back(pod_line(pod));
    if (found != old.end()) old.erase(found);
  }
  for (const auto& [name, pod] : old) out.push_back(name + ": gone");
  const bool moved =
      before.counts.available != now.counts.available || before.counts.wanted != now.counts.wanted;
  if (moved && now.counts.wanted > 0) {
    out.push_back(fmt::format("{} of {} pods ready", now.counts.available, now.counts.wanted));
  }
  return out;
}

}  // namespace kantha::cli
