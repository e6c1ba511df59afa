#include "noded/fleet/hop_seal.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/digest.h"

namespace kantha::noded {
namespace {

constexpr std::int64_t kGoodForMs = 60'000;
constexpr std::size_t kMarkBytesMax = 1024;
constexpr std::string_view kMac = ";mac=";

std::int64_t unix_ms(WallTime time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

Error not_believed(std::string why) {
  return {Code::kUnauthenticated, std::string(kHopHeader) + ": " + std::move(why)};
}

/// The value of "name=value" among parts with ';' between them.
std::string_view part(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const std::string_view piece = text.substr(0, text.find(';'));
    text.remove_prefix(std::min(text.size(), piece.size() + 1));
    if (piece.size() > name.size() && piece.starts_with(name) && piece[name.size()] == '=') {
      return piece.substr(name.size() + 1);
    }
  }
  return {};
}

}  // namespace

HopSeal::HopSeal(std::string pod, std::function<std::string()> token, const Clock& clock)
    : pod_(std::move(pod)), token_(std::move(token)), clock_(clock) {}

std::string HopSeal::mac_of(std::string_view text, std::string_view method,
                            std::string_view target) const {
  const std::string token = token_();
  if (token.empty()) return {};
  std::string sealed = "kantha hop\n" + std::string(text);
  sealed.append("\n").append(method).append("\n").append(target);
  return hmac_sha256_hex(token, sealed);
}

std::string HopSeal::seal(std::string_view to, std::string_view method,
                          std::string_view target) const {
  std::string text = "from=" + pod_ + ";to=" + std::string(to) +
                     ";at=" + std::to_string(unix_ms(clock_.wall_now()));
  const std::string mac = mac_of(text, method, target);
  return mac.empty() ? std::string() : text + std::string(kMac) + mac;
}

Result<std::string> HopSeal::open(std::string_view mark, std::string_view method,
                                  std::string_view target) const {
  const std::size_t cut = mark.rfind(kMac);
  if (mark.size() > kMarkBytesMax || cut == std::string_view::npos) {
    return not_believed("not a mark");
  }
  const std::string_view text = mark.substr(0, cut);
  const std::string mac = mac_of(text, method, target);
  if (mac.empty()) return not_believed("this pod shares no secret with others");
  if (!equal_in_constant_time(mac, mark.substr(cut + kMac.size()))) {
    return not_believed("wrong seal");
  }
  if (part(text, "to") != pod_) return not_believed("it was meant for another pod");
  const std::string_view at = part(text, "at");
  std::int64_t sealed_ms = 0;
  std::from_chars(at.data(), at.data() + at.size(), sealed_ms);
  const std::int64_t age = unix_ms(clock_.wall_now()) - sealed_ms;
  if (age > kGoodForMs || age < -kGoodForMs) {
    return not_believed("sealed " + std::to_string(age) + " ms ago");
  }
  return std::string(part(text, "from"));
}

}  // namespace kantha::noded
