#include "noded/weight_options.h"

#include <CLI/CLI.hpp>

#include <limits>
#include <utility>

#include "base/whole_file.h"

namespace kantha::noded {
namespace {

constexpr std::size_t kMirrorsMax = 16;
constexpr std::size_t kCaBytesMax = 4u << 20;

Result<std::vector<Url>> read_urls(const std::vector<std::string>& texts) {
  if (texts.size() > kMirrorsMax) {
    return invalid_argument("--model-url: at most 16 addresses, got " +
                            std::to_string(texts.size()));
  }
  std::vector<Url> out;
  for (const std::string& text : texts) {
    Result<Url> url = parse_url(text);
    if (!url.ok()) return std::move(url).error().with_context("--model-url");
    out.push_back(std::move(url).value());
  }
  return out;
}

Result<std::shared_ptr<const net::TlsContext>> read_roots(const std::string& file) {
  if (file.empty()) return std::shared_ptr<const net::TlsContext>();
  Result<std::string> pem = read_whole_file(file, kCaBytesMax);
  if (!pem.ok()) return std::move(pem).error().with_context("--model-ca-file");
  auto context = net::TlsContext::for_client({.ca_pem = std::move(pem).value()});
  if (!context.ok()) return std::move(context).error().with_context("--model-ca-file");
  return context;
}

}  // namespace

void add_weight_flags(CLI::App& app, WeightFlags& flags) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  app.add_option("--model-url", flags.urls,
                 "Address of the weights (http or https), fetched before the engine starts; may be "
                 "given again for mirrors");
  app.add_option("--model-sha256", flags.sha256, "SHA-256 of the weights");
  app.add_option("--model-bytes", flags.bytes, "Size of the weights, when known")
      ->check(CLI::Range(std::int64_t{0}, kMax));
  app.add_option("--model-cache", flags.cache, "Folder in which fetched weights are kept");
  app.add_option("--model-cache-quota", flags.quota_bytes,
                 "Bytes that the folder may hold; 0: as much as its disk")
      ->check(CLI::Range(std::int64_t{0}, kMax));
  app.add_option("--model-ca-file", flags.ca_file,
                 "PEM file with the roots to trust for https; default: the system's");
}

Result<std::optional<WeightOptions>> weight_options(const WeightFlags& flags,
                                                    const Environment& environment) {
  const bool has_rest = !flags.sha256.empty() || !flags.cache.empty();
  if (flags.urls.empty() && has_rest) return invalid_argument("--model-url: required here");
  if (flags.urls.empty()) return std::optional<WeightOptions>();
  if (!is_digest(flags.sha256)) {
    return invalid_argument("--model-sha256: expected 64 lower-case hex digits, got \"" +
                            flags.sha256.substr(0, 80) + "\"");
  }
  if (flags.cache.empty()) return invalid_argument("--model-cache: required with --model-url");
  WeightOptions out;
  TRY(out.spec.urls, read_urls(flags.urls));
  out.spec.sha256 = flags.sha256;
  out.spec.bytes = flags.bytes;
  out.settings.cache = flags.cache;
  out.settings.quota_bytes = flags.quota_bytes;
  TRY(out.settings.download.tls, read_roots(flags.ca_file));
  TRY(out.settings.download.proxies, proxy_rules_from(environment));
  return std::optional<WeightOptions>(std::move(out));
}

}  // namespace kantha::noded
