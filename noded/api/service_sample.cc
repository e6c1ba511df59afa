#include "noded/api/service_sample.h"

#include <algorithm>
#include <limits>
#include <string>

#include "base/json_fields.h"

namespace kantha::noded {
namespace {

template <std::size_t kCount>
Json sketches_json(const std::array<LatencySketch, kCount>& sketches) {
  Json out = Json::array();
  for (const LatencySketch& sketch : sketches) out.push_back(sketch.to_json());
  return out;
}

/// Lists of a newer or an older noded may be longer or shorter; what is missing is empty.
template <std::size_t kCount>
Status read_sketches(const JsonFields& fields, const char* name,
                     std::array<LatencySketch, kCount>& out) {
  TRY(const Json* list, fields.array(name, 64));
  if (list == nullptr) return ok_status();
  for (std::size_t i = 0; i < std::min(kCount, list->size()); ++i) {
    Result<LatencySketch> sketch = LatencySketch::from_json((*list)[i]);
    if (!sketch.ok()) {
      return Error(sketch.error())
          .with_context("sample." + std::string(name) + "[" + std::to_string(i) + "]");
    }
    out[i] = std::move(sketch).value();
  }
  return ok_status();
}

}  // namespace

std::size_t prompt_class(std::int64_t prompt_tokens) {
  std::size_t out = 0;
  for (std::int64_t limit = 32; prompt_tokens > limit && out + 1 < kPromptClasses; limit *= 2) {
    ++out;
  }
  return out;
}

void ServiceSample::merge(const ServiceSample& other) {
  answered += other.answered;
  failed += other.failed;
  for (std::size_t i = 0; i < kPromptClasses; ++i) first_token[i].merge(other.first_token[i]);
  for (std::size_t i = 0; i < kPaceKinds; ++i) per_token[i].merge(other.per_token[i]);
}

ServiceSample ServiceSample::since(const ServiceSample& earlier) const {
  ServiceSample out;
  out.answered = std::max<std::int64_t>(0, answered - earlier.answered);
  out.failed = std::max<std::int64_t>(0, failed - earlier.failed);
  for (std::size_t i = 0; i < kPromptClasses; ++i) {
    out.first_token[i] = first_token[i].since(earlier.first_token[i]);
  }
  for (std::size_t i = 0; i < kPaceKinds; ++i) {
    out.per_token[i] = per_token[i].since(earlier.per_token[i]);
  }
  return out;
}

std::int64_t ServiceSample::first_token_count() const {
  std::int64_t out = 0;
  for (const LatencySketch& sketch : first_token) out += sketch.count();
  return out;
}

Json to_json(const ServiceSample& sample) {
  return {{"answered", sample.answered},
          {"failed", sample.failed},
          {"first_token", sketches_json(sample.first_token)},
          {"per_token", sketches_json(sample.per_token)}};
}

Result<ServiceSample> service_sample_from_json(const Json& json) {
  const JsonFields fields(json, "sample");
  TRY_OK(fields.check_object());
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  ServiceSample out;
  TRY(const auto answered, fields.integer("answered", 0, kMax));
  TRY(const auto failed, fields.integer("failed", 0, kMax));
  out.answered = answered.value_or(0);
  out.failed = failed.value_or(0);
  TRY_OK(read_sketches(fields, "first_token", out.first_token));
  TRY_OK(read_sketches(fields, "per_token", out.per_token));
  return out;
}

}  // namespace kantha::noded
