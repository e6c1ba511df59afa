#include "bench/load/slo.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "bench/load/distribution.h"

namespace kantha::bench {
namespace {

double to_ms(Duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

Status set_limit(Slo& slo, const std::string& part) {
  const std::string expected =
      ": expected ttft, itl, tpot or e2e, a colon and milliseconds, got \"";
  const std::size_t colon = part.find(':');
  const std::string name = part.substr(0, colon);
  std::optional<double>* limit = name == "ttft"   ? &slo.ttft_ms
                                 : name == "itl"  ? &slo.itl_ms
                                 : name == "tpot" ? &slo.tpot_ms
                                 : name == "e2e"  ? &slo.e2e_ms
                                                  : nullptr;
  double value = 0;
  const char* end = part.data() + part.size();
  const char* begin = colon == std::string::npos ? end : part.data() + colon + 1;
  const auto read = std::from_chars(begin, end, value);
  const bool is_number = read.ec == std::errc() && read.ptr == end;
  if (limit == nullptr || !is_number || !(value > 0) || !std::isfinite(value)) {
    return invalid_argument("--slo" + expected + part + "\"");
  }
  *limit = value;
  return ok_status();
}

bool keeps(const std::optional<double>& limit, const std::optional<double>& value) {
  return !limit || (value && *value <= *limit);
}

}  // namespace

Result<Slo> parse_slo(const std::string& text) {
  Slo slo;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    TRY_OK(set_limit(slo, text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return slo;
}

std::optional<double> ttft_ms(const RequestLog& request) {
  if (request.content_at.empty()) return std::nullopt;
  return to_ms(request.content_at.front() - request.due);
}

std::optional<double> tpot_ms(const RequestLog& request) {
  if (request.content_at.empty() || !request.usage) return std::nullopt;
  const std::int64_t gaps = request.usage->output_tokens - 1;
  if (gaps < 1) return std::nullopt;
  const Duration spent = request.content_at.back() - request.content_at.front();
  return to_ms(spent) / static_cast<double>(gaps);
}

double e2e_ms(const RequestLog& request) { return to_ms(request.ended - request.due); }

std::vector<double> itl_ms(const RequestLog& request) {
  std::vector<double> gaps;
  for (std::size_t i = 1; i < request.content_at.size(); ++i) {
    gaps.push_back(to_ms(request.content_at[i] - request.content_at[i - 1]));
  }
  return gaps;
}

bool meets(const RequestLog& request, const Slo& slo) {
  if (!request.ok() || !keeps(slo.ttft_ms, ttft_ms(request))) return false;
  if (slo.e2e_ms && e2e_ms(request) > *slo.e2e_ms) return false;
  const bool is_one_token = request.usage && request.usage->output_tokens == 1;
  if (slo.tpot_ms && !is_one_token && !keeps(slo.tpot_ms, tpot_ms(request))) return false;
  if (!slo.itl_ms) return true;
  std::vector<double> gaps = itl_ms(request);
  if (gaps.empty()) return request.content_at.size() == 1;
  std::ranges::sort(gaps);
  return quantile(gaps, 0.95) <= *slo.itl_ms;
}

}  // namespace kantha::bench
