#include "operator/serving/decision.h"

#include "base/json_text.h"
#include "operator/serving/bounded_text.h"
#include "operator/serving/timestamp.h"

namespace kantha::serving {
namespace {

constexpr std::size_t kWordMax = 63;
constexpr std::size_t kInputsMax = 1024;

}  // namespace

Json to_json(const Decision& decision) {
  return {{"time", timestamp_text(decision.at)},
          {"kind", bounded_text(decision.kind, kWordMax)},
          {"from", bounded_text(decision.from, kWordMax)},
          {"to", bounded_text(decision.to, kWordMax)},
          {"reason", bounded_text(decision.reason, kWordMax)},
          {"message", bounded_text(decision.inputs, kInputsMax)}};
}

std::vector<Decision> decisions_from_json(const Json& list) {
  std::vector<Decision> out;
  if (!list.is_array()) return out;
  for (const Json& entry : list) {
    if (!entry.is_object() || out.size() >= kDecisionsKept) continue;
    const auto at = timestamp_from_text(text_at(entry, "time"));
    if (!at) continue;
    out.push_back({text_at(entry, "kind"), text_at(entry, "from"), text_at(entry, "to"),
                   text_at(entry, "reason"), text_at(entry, "message"), *at});
  }
  return out;
}

std::vector<Decision> with_decisions(std::vector<Decision> kept,
                                     const std::vector<Decision>& made) {
  kept.insert(kept.end(), made.begin(), made.end());
  if (kept.size() > kDecisionsKept) {
    kept.erase(kept.begin(), kept.end() - static_cast<std::ptrdiff_t>(kDecisionsKept));
  }
  return kept;
}

Json decisions_json(const std::vector<Decision>& decisions) {
  Json out = Json::array();
  for (const Decision& decision : decisions) out.push_back(to_json(decision));
  return out;
}

}  // namespace kantha::serving
