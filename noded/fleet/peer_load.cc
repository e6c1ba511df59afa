#include "noded/fleet/peer_load.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

namespace kantha::noded {
namespace {

constexpr std::size_t kTextBytesMax = 1024;
constexpr std::array kPhases = {
    EnginePhase::kStarting, EnginePhase::kReady,   EnginePhase::kBackoff, EnginePhase::kCrashLoop,
    EnginePhase::kDraining, EnginePhase::kStopped, EnginePhase::kFetching};

bool is_plain(char byte) { return byte > ' ' && byte < 127 && byte != ';' && byte != '%'; }

std::string encoded(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const char byte : text) {
    if (is_plain(byte)) {
      out += byte;
    } else {
      const auto bits = static_cast<unsigned char>(byte);
      out += {'%', kDigits[bits >> 4], kDigits[bits & 15]};
    }
  }
  return out;
}

std::optional<std::string> decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    unsigned bits = 0;
    if (i + 2 >= text.size()) return std::nullopt;
    const auto end = std::from_chars(&text[i + 1], &text[i + 1] + 2, bits, 16);
    if (end.ec != std::errc() || end.ptr != &text[i + 1] + 2) return std::nullopt;
    out += static_cast<char>(bits);
    i += 2;
  }
  return out;
}

template <class T>
Status read_number(std::string_view part, std::string_view text, T& out) {
  T value{};
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = end.ec == std::errc() && end.ptr == text.data() + text.size();
  bool sane = whole && value >= 0;
  if constexpr (std::is_floating_point_v<T>) sane = sane && std::isfinite(value);
  if (!sane) {
    return invalid_argument(std::string(part) + ": expected a number from 0, got \"" +
                            std::string(text.substr(0, 40)) + "\"");
  }
  out = value;
  return ok_status();
}

Status read_phase(std::string_view text, EnginePhase& out) {
  for (const EnginePhase phase : kPhases) {
    if (engine_phase_name(phase) != text) continue;
    out = phase;
    return ok_status();
  }
  return invalid_argument("phase: unknown, got \"" + std::string(text.substr(0, 40)) + "\"");
}

Status read_name(std::string_view part, std::string_view text, std::string& out) {
  std::optional<std::string> name = decoded(text);
  if (!name) return invalid_argument(std::string(part) + ": wrong percent-encoding");
  out = *std::move(name);
  return ok_status();
}

Status read_part(std::string_view name, std::string_view text, PeerLoad& load) {
  if (name == "pod") return read_name(name, text, load.pod);
  if (name == "model") return read_name(name, text, load.model);
  if (name == "phase") return read_phase(text, load.phase);
  if (name == "running") return read_number(name, text, load.running);
  if (name == "pressure") return read_number(name, text, load.kv_pressure);
  if (name == "age_ms") return read_number(name, text, load.age_ms);
  if (name == "ready_ms") return read_number(name, text, load.ready_ms.emplace());
  return ok_status();
}

}  // namespace

std::string load_text(const PeerLoad& load) {
  std::array<char, 32> pressure{};
  const auto end = std::to_chars(pressure.data(), pressure.data() + pressure.size(),
                                 load.kv_pressure, std::chars_format::fixed, 4);
  return "pod=" + encoded(load.pod) + ";model=" + encoded(load.model) +
         ";phase=" + std::string(engine_phase_name(load.phase)) +
         ";running=" + std::to_string(load.running) +
         ";pressure=" + std::string(pressure.data(), end.ptr) +
         ";age_ms=" + std::to_string(load.age_ms) +
         (load.ready_ms ? ";ready_ms=" + std::to_string(*load.ready_ms) : std::string());
}

Result<PeerLoad> load_from_text(std::string_view text) {
  if (text.size() > kTextBytesMax) {
    return invalid_argument("at most " + std::to_string(kTextBytesMax) + " bytes, got " +
                            std::to_string(text.size()));
  }
  PeerLoad load;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(';'));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) continue;
    TRY_OK(read_part(part.substr(0, equals), part.substr(equals + 1), load));
  }
  if (load.pod.empty()) return invalid_argument("pod: expected a name, got nothing");
  return load;
}

}  // namespace kantha::noded
