#include "noded/gateway/request_trace.h"

#include <algorithm>

#include "base/net/ascii.h"
#include "base/rng.h"

namespace kantha::noded {
namespace {

constexpr std::string_view kRequestId = "x-request-id";
constexpr std::string_view kTraceParent = "traceparent";
constexpr std::string_view kTraceState = "tracestate";
constexpr std::size_t kRequestIdMax = 128;
constexpr std::size_t kTraceDigits = 32;
constexpr std::size_t kSpanDigits = 16;

bool is_lower_hex(std::string_view text) {
  return std::ranges::all_of(text,
                             [](char c) { return net::is_digit(c) || (c >= 'a' && c <= 'f'); });
}

bool is_zero(std::string_view text) { return text.find_first_not_of('0') == text.npos; }

/// The value of a field that is there exactly once.
std::optional<std::string> only_value(const net::Headers& headers, std::string_view name) {
  std::optional<std::string> value;
  for (const auto& [key, text] : headers.all()) {
    if (!net::equals_ignoring_case(key, name)) continue;
    if (value) return std::nullopt;
    value = net::trim(text);
  }
  return value;
}

}  // namespace

std::optional<TraceParent> parse_traceparent(std::string_view text) {
  // version "-" trace-id "-" parent-id "-" flags; later versions may go on after another dash.
  constexpr std::size_t kBytes = 55;
  if (text.size() < kBytes || text[2] != '-' || text[35] != '-' || text[52] != '-') {
    return std::nullopt;
  }
  const std::string_view version = text.substr(0, 2);
  const std::string_view trace_id = text.substr(3, kTraceDigits);
  const std::string_view parent_id = text.substr(36, kSpanDigits);
  const std::string_view flags = text.substr(53, 2);
  const bool fits =
      version == "00" ? text.size() == kBytes : text.size() == kBytes || text[kBytes] == '-';
  if (!fits || version == "ff" || !is_lower_hex(version) || !is_lower_hex(trace_id) ||
      !is_lower_hex(parent_id) || !is_lower_hex(flags) || is_zero(trace_id) || is_zero(parent_id)) {
    return std::nullopt;
  }
  return TraceParent{std::string(trace_id), std::string(parent_id), std::string(flags)};
}

bool is_sane_request_id(std::string_view text) {
  return !text.empty() && text.size() <= kRequestIdMax && std::ranges::all_of(text, [](char c) {
    const char lower = net::to_lower(c);
    return net::is_digit(c) || (lower >= 'a' && lower <= 'z') || c == '-' || c == '_' || c == '.' ||
           c == ':';
  });
}

std::string TraceIds::hex(std::size_t digits) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  while (out.size() < digits) {
    std::uint64_t bits = random_bits(seed_, ++counter_);
    for (int i = 0; i < 16 && out.size() < digits; ++i, bits >>= 4U) out += kDigits[bits & 15U];
  }
  return out;
}

RequestTrace TraceIds::begin(net::Headers& headers) {
  RequestTrace trace;
  const auto id = only_value(headers, kRequestId);
  trace.request_id = id && is_sane_request_id(*id) ? *id : "req-" + hex(kTraceDigits);
  headers.set(kRequestId, trace.request_id);
  if (const auto given = only_value(headers, kTraceParent)) {
    trace.parent = parse_traceparent(*given);
  }
  if (!trace.parent) {
    headers.remove(kTraceParent);
    headers.remove(kTraceState);
    return trace;
  }
  do {
    trace.span_id = hex(kSpanDigits);
  } while (is_zero(trace.span_id));
  headers.set(kTraceParent,
              "00-" + trace.parent->trace_id + "-" + trace.span_id + "-" + trace.parent->flags);
  return trace;
}

}  // namespace kantha::noded
