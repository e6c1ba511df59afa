#include "operator/metricsapi/metric_path.h"

namespace kantha::metricsapi {
namespace {

constexpr std::size_t kTargetBytesMax = 8u << 10;

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> out;
  std::size_t from = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] != at) continue;
    out.push_back(text.substr(from, i - from));
    from = i + 1;
  }
  return out;
}

Status read_query(std::string_view query, ApiQuery& out) {
  for (const std::string_view pair : split(query, '&')) {
    const std::size_t equal = pair.find('=');
    if (equal == std::string_view::npos) continue;
    const std::string_view key = pair.substr(0, equal);
    if (key != "labelSelector" && key != "metricLabelSelector") continue;
    TRY(std::string value, percent_decoded(pair.substr(equal + 1), true));
    (key == "labelSelector" ? out.label_selector : out.metric_selector) = std::move(value);
  }
  return ok_status();
}

/// Of a custom metric: "", apis, GROUP, VERSION, namespaces, NAMESPACE, RESOURCE, NAME, METRIC; of
/// an external one RESOURCE and NAME are not there.
void read_metric(const std::vector<std::string>& parts, ApiQuery& out) {
  const bool is_custom = parts.size() == 9 && parts[2] == kMetricsGroup &&
                         (parts[3] == "v1beta1" || parts[3] == "v1beta2");
  const bool is_external =
      parts.size() == 7 && parts[2] == kExternalGroup && parts[3] == kExternalVersion;
  if (!is_custom && !is_external) return;
  out.group = parts[2];
  out.version = parts[3];
  out.name_space = parts[5];
  out.metric = parts.back();
  if (!is_custom) return;
  out.resource = parts[6];
  out.name = parts[7];
}

}  // namespace

Result<std::string> percent_decoded(std::string_view text, bool is_query) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
      if (high < 0 || low < 0) return invalid_argument("the URL has a \"%\" that is no escape");
      c = static_cast<char>(high * 16 + low);
      i += 2;
    } else if (is_query && c == '+') {
      c = ' ';
    }
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      return invalid_argument("the URL has a control character");
    }
    out += c;
  }
  return out;
}

Result<ApiQuery> parse_api_query(std::string_view target) {
  if (target.size() > kTargetBytesMax) return invalid_argument("the URL is longer than 8 KiB");
  const std::size_t mark = target.find('?');
  ApiQuery out;
  std::vector<std::string> parts;
  for (const std::string_view part : split(target.substr(0, mark), '/')) {
    TRY(std::string decoded, percent_decoded(part, false));
    if (!parts.empty()) out.path += "/" + decoded;
    parts.push_back(std::move(decoded));
  }
  if (mark != std::string_view::npos) TRY_OK(read_query(target.substr(mark + 1), out));
  const bool is_of_namespace = parts.size() > 6 && parts[1] == "apis" && parts[4] == "namespaces" &&
                               !parts[5].empty() && !parts.back().empty();
  if (is_of_namespace) read_metric(parts, out);
  return out;
}

}  // namespace kantha::metricsapi
