#include "operator/kube/credentials.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/log.h"
#include "base/whole_file.h"

namespace kantha::kube {
namespace {

constexpr Duration kLookInterval = std::chrono::seconds(1);
constexpr std::size_t kPemBytesMax = 4u << 20;
constexpr std::size_t kTokenBytesMax = 64u << 10;

/// Inline data, else the file's content, else nothing.
Result<std::string> text_of(const std::string& data, const std::string& file,
                            std::size_t bytes_max) {
  if (!data.empty() || file.empty()) return data;
  return read_whole_file(file, bytes_max);
}

bool is_token(const std::string& text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

}  // namespace

Result<Credentials> Credentials::load(const ClusterConfig& config, TimePoint now) {
  Credentials out(config);
  // Stamps before contents: a change in between is seen at the next look.
  out.seen_ = out.stamps();
  out.looked_at_ = now;
  TRY(out.tls_, out.read_tls());
  TRY(out.authorization_, out.read_authorization());
  return out;
}

bool Credentials::refresh(TimePoint now) {
  if (!std::exchange(is_suspect_, false) && now - looked_at_ < kLookInterval) return false;
  looked_at_ = now;
  std::vector<Stamp> current = stamps();
  if (current == seen_) return false;
  Result<net::TlsClientSettings> tls = read_tls();
  Result<std::string> authorization = read_authorization();
  if (!tls || !authorization) {
    const Error& error = tls ? authorization.error() : tls.error();
    // Once for each state of the files, not each second.
    if (std::exchange(refused_, current) != current) {
      log_warn("credentials have changed but cannot be used yet", {{"error", error.to_string()}});
    }
    return false;
  }
  seen_ = std::move(current);
  authorization_ = std::move(authorization).value();
  const bool has_changed = *tls != tls_;
  tls_ = std::move(tls).value();
  log_info("credentials read again", {{"tls_changed", has_changed}});
  return has_changed;
}

std::vector<Credentials::Stamp> Credentials::stamps() const {
  std::vector<Stamp> out;
  for (const std::string* path : {&config_.ca_file, &config_.client_certificate_file,
                                  &config_.client_key_file, &config_.token_file}) {
    struct stat found = {};
    Stamp stamp;
    if (!path->empty() && ::stat(path->c_str(), &found) == 0) {
      stamp = {.inode = found.st_ino,
               .size = found.st_size,
               .modified_ns = found.st_mtim.tv_sec * 1'000'000'000 + found.st_mtim.tv_nsec};
    }
    out.push_back(stamp);
  }
  return out;
}

Result<net::TlsClientSettings> Credentials::read_tls() const {
  net::TlsClientSettings out;
  TRY(out.ca_pem, text_of(config_.ca_data, config_.ca_file, kPemBytesMax));
  TRY(out.certificate_pem,
      text_of(config_.client_certificate_data, config_.client_certificate_file, kPemBytesMax));
  TRY(out.key_pem, text_of(config_.client_key_data, config_.client_key_file, kPemBytesMax));
  out.server_name = config_.tls_server_name;
  out.skip_verify = config_.insecure_skip_tls_verify;
  // The parts must fit each other; a key may be renewed a moment after its certificate.
  const auto context = net::TlsContext::for_client(out);
  if (!context) return context.error();
  return out;
}

Result<std::string> Credentials::read_authorization() const {
  // The file wins, because it is renewed.
  const std::string& inline_token = config_.token_file.empty() ? config_.token : std::string();
  TRY(std::string token, text_of(inline_token, config_.token_file, kTokenBytesMax));
  while (token.ends_with('\n') || token.ends_with('\r') || token.ends_with(' ')) token.pop_back();
  if (token.empty() && !config_.token_file.empty()) {
    return invalid_argument("the file is empty: " + config_.token_file, "token_file");
  }
  if (!is_token(token)) return invalid_argument("holds blanks or control characters", "token");
  return token.empty() ? token : "Bearer " + token;
}

}  // namespace kantha::kube
