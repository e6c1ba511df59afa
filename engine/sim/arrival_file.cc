#include "engine/sim/arrival_file.h"

#include <cmath>
#include <fstream>
#include <unordered_map>
#include <utility>

#include "base/json_fields.h"

namespace kantha::sim {
namespace {

/// Numbers names in order of their appearance.
class Names {
 public:
  Result<std::int32_t> index(const char* field, const std::string& name) {
    if (name.size() > kNameBytesMax) {
      return invalid_argument(std::string(field) + ": expected at most " +
                              std::to_string(kNameBytesMax) + " bytes, got " +
                              std::to_string(name.size()));
    }
    const auto next = static_cast<std::int32_t>(indices_.size());
    const auto [entry, fresh] = indices_.try_emplace(name, next);
    if (fresh && indices_.size() > kNamesMax) {
      return invalid_argument(std::string(field) + ": expected at most " +
                              std::to_string(kNamesMax) + " different names");
    }
    return entry->second;
  }

 private:
  std::unordered_map<std::string, std::int32_t> indices_;
};

class ArrivalReader {
 public:
  Status line(const std::string& text);
  Result<Workload> take();
  bool full() const { return workload_.arrivals.size() >= kArrivalsMax; }

 private:
  Status lengths(const JsonFields& fields, Arrival& arrival);
  Status prefix(const JsonFields& fields, Arrival& arrival);
  Status standing(const JsonFields& fields, Arrival& arrival);

  Workload workload_;
  Names tenants_;
  Names prefixes_;
  double last_at_ms_ = 0;
};

Error missing(const char* field, const std::string& expected) {
  return invalid_argument(std::string(field) + ": expected " + expected + ", got nothing", field);
}

Duration milliseconds(double ms) { return Duration(std::llround(ms * 1e6)); }

Result<sched::SloClass> class_from_name(const std::string& name) {
  if (name == "interactive") return sched::SloClass::kInteractive;
  if (name == "agent") return sched::SloClass::kAgent;
  if (name == "batch") return sched::SloClass::kBatch;
  return invalid_argument("class: expected interactive, agent or batch, got \"" + name + "\"");
}

Status ArrivalReader::lengths(const JsonFields& fields, Arrival& arrival) {
  const std::string range = "[1, " + std::to_string(kTokensMax) + "]";
  TRY(const auto at_ms, fields.number("at_ms", 0, kAtMsMax));
  if (!at_ms) return missing("at_ms", "a number of at least 0");
  if (*at_ms < last_at_ms_) {
    return invalid_argument("at_ms: expected at least " + Json(last_at_ms_).dump() +
                            ", the time of the line before, got " + Json(*at_ms).dump());
  }
  last_at_ms_ = *at_ms;
  arrival.at = milliseconds(*at_ms);
  TRY(const auto prompt, fields.integer("prompt_tokens", 1, kTokensMax));
  if (!prompt) return missing("prompt_tokens", "an integer in " + range);
  TRY(const auto output, fields.integer("output_tokens", 1, kTokensMax));
  if (!output) return missing("output_tokens", "an integer in " + range);
  arrival.prompt_tokens = static_cast<std::int32_t>(*prompt);
  arrival.output_tokens = static_cast<std::int32_t>(*output);
  return ok_status();
}

Status ArrivalReader::prefix(const JsonFields& fields, Arrival& arrival) {
  TRY(const auto tokens, fields.integer("prefix_tokens", 0, arrival.prompt_tokens));
  TRY(const auto id, fields.string("prefix_id"));
  if (id.has_value() != tokens.has_value()) {
    return id ? missing("prefix_tokens", "an integer beside prefix_id")
              : missing("prefix_id", "a string beside prefix_tokens");
  }
  if (!id) return ok_status();
  TRY(arrival.prefix, prefixes_.index("prefix_id", *id));
  arrival.prefix_tokens = static_cast<std::int32_t>(*tokens);
  return ok_status();
}

Status ArrivalReader::standing(const JsonFields& fields, Arrival& arrival) {
  TRY(const auto tenant, fields.string("tenant"));
  TRY(arrival.tenant, tenants_.index("tenant", tenant.value_or("")));
  if (static_cast<std::size_t>(arrival.tenant) == workload_.tenants.size()) {
    workload_.tenants.push_back(tenant.value_or(""));
  }
  TRY(const auto slo, fields.string("class"));
  TRY(arrival.slo, class_from_name(slo.value_or("interactive")));
  TRY(const auto priority, fields.integer("priority", -1'000'000, 1'000'000));
  arrival.priority = static_cast<std::int32_t>(priority.value_or(0));
  TRY(const auto timeout_ms, fields.number("timeout_ms", 0.001, kAtMsMax));
  arrival.timeout = milliseconds(timeout_ms.value_or(0));
  return ok_status();
}

Status ArrivalReader::line(const std::string& text) {
  TRY(const Json json,
      parse_json(text, {.depth_max = 4, .nodes_max = 64, .bytes_max = kLineBytesMax}));
  const JsonFields fields(json, "");
  TRY_OK(fields.check_object());
  TRY_OK(fields.check_known({"at_ms", "prompt_tokens", "output_tokens", "prefix_id",
                             "prefix_tokens", "tenant", "class", "priority", "timeout_ms"}));
  Arrival arrival;
  TRY_OK(lengths(fields, arrival));
  TRY_OK(prefix(fields, arrival));
  TRY_OK(standing(fields, arrival));
  workload_.arrivals.push_back(arrival);
  return ok_status();
}

Result<Workload> ArrivalReader::take() {
  if (workload_.arrivals.empty())
    return invalid_argument("no arrivals: expected at least one line");
  return std::move(workload_);
}

/// One line without its end, never more than kLineBytesMax + 1 bytes of it; false at the end.
bool next_line(std::istream& in, std::string& line) {
  line.clear();
  int c = in.get();
  if (c == std::istream::traits_type::eof()) return false;
  while (c != std::istream::traits_type::eof() && c != '\n' && line.size() <= kLineBytesMax) {
    line.push_back(static_cast<char>(c));
    c = in.get();
  }
  if (!line.empty() && line.back() == '\r') line.pop_back();
  return true;
}

}  // namespace

Result<Workload> read_arrivals(std::istream& lines) {
  ArrivalReader reader;
  std::string text;
  for (std::int64_t number = 1; next_line(lines, text); ++number) {
    const std::string where = "line " + std::to_string(number);
    if (text.size() > kLineBytesMax) {
      return invalid_argument(where + ": expected at most " + std::to_string(kLineBytesMax) +
                              " bytes");
    }
    if (text.find_first_not_of(" \t") == std::string::npos) continue;
    if (reader.full()) {
      return invalid_argument(where + ": expected at most " + std::to_string(kArrivalsMax) +
                              " requests; split the file");
    }
    if (Status read = reader.line(text); !read.ok()) {
      return std::move(read).error().with_context(where);
    }
  }
  return reader.take();
}

Result<Workload> read_arrival_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return not_found(path + ": cannot be opened");
  Result<Workload> workload = read_arrivals(file);
  if (file.bad()) return data_loss(path + ": cannot be read to its end");
  if (!workload.ok()) {
    Error error = workload.error();
    return std::move(error).with_context(path);
  }
  return workload;
}

}  // namespace kantha::sim
