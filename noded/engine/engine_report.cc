#include "noded/engine/engine_report.h"

#include <array>
#include <utility>

#include "base/json_fields.h"

namespace kantha::noded {
namespace {

constexpr Duration kReportEvery = std::chrono::seconds(1);

struct CountField {
  std::string_view name;
  std::int64_t EngineReport::* member;
};
constexpr std::array kCounts = {
    CountField{"pid", &EngineReport::pid},
    CountField{"engine_restarts", &EngineReport::restarts},
    CountField{"uptime_ms", &EngineReport::uptime_ms},
    CountField{"generation_tokens_total", &EngineReport::generation_tokens_total},
};
constexpr std::array kBlockCounts = {
    CountField{"blocks_total", &EngineReport::blocks_total},
    CountField{"blocks_active", &EngineReport::blocks_active},
    CountField{"blocks_cached", &EngineReport::blocks_cached},
    CountField{"blocks_free", &EngineReport::blocks_free},
    CountField{"waiting_tokens", &EngineReport::waiting_tokens},
};

struct TextField {
  std::string_view name;
  std::string EngineReport::* member;
};
constexpr std::array kTexts = {
    TextField{"version", &EngineReport::version},
    TextField{"phase", &EngineReport::phase},
    TextField{"message", &EngineReport::message},
    TextField{"config_hash", &EngineReport::config_hash},
    TextField{"tokenizer_hash", &EngineReport::tokenizer_hash},
    TextField{"last_end", &EngineReport::last_end},
};

template <std::size_t N>
Status read_counts(const JsonFields& fields, const std::array<CountField, N>& known,
                   EngineReport& report) {
  for (const CountField& field : known) {
    TRY(const std::optional<std::int64_t> value, fields.integer(field.name, 0, INT64_MAX));
    report.*field.member = value.value_or(0);
  }
  return ok_status();
}

}  // namespace

Result<EngineReport> engine_report_from_json(const Json& json) {
  const JsonFields root(json, "");
  TRY_OK(root.check_object());
  EngineReport report;
  for (const TextField& field : kTexts) {
    TRY(std::optional<std::string> text, root.string(field.name));
    report.*field.member = std::move(text).value_or("");
  }
  TRY_OK(read_counts(root, kCounts, report));
  TRY(const std::optional<JsonFields> kv, root.object("kv"));
  if (!kv) return report;
  TRY_OK(read_counts(*kv, kBlockCounts, report));
  TRY(const std::optional<double> pressure, kv->number("pressure", 0, 1e9));
  report.kv_pressure = pressure.value_or(0);
  return report;
}

bool ReportBook::due(TimePoint now) const { return !noted_ || now - *noted_ >= kReportEvery; }

void ReportBook::note(EngineReport report, TimePoint asked) {
  if (noted_ && asked > *noted_) {
    const double seconds = std::chrono::duration<double>(asked - *noted_).count();
    const auto made = report.generation_tokens_total - noted_tokens_;
    tokens_per_second_ = made > 0 ? static_cast<double>(made) / seconds : 0;
  }
  last_ = std::move(report);
  noted_ = taken_ = asked;
  noted_tokens_ = last_.generation_tokens_total;
}

void ReportBook::freshen(EngineReport report, TimePoint asked) {
  const bool is_of_the_same = noted_ && report.pid == last_.pid &&
                              report.restarts == last_.restarts &&
                              report.config_hash == last_.config_hash;
  if (!is_of_the_same || asked <= *taken_) return;
  last_ = std::move(report);
  taken_ = asked;
}

}  // namespace kantha::noded
