#include "noded/node/xid_policy.h"

#include <algorithm>
#include <array>
#include <utility>

namespace kantha::noded {
namespace {

constexpr XidAction kNote = XidAction::kNote;
constexpr XidAction kRestart = XidAction::kRestartEngine;
constexpr XidAction kDrain = XidAction::kDrainGpu;
constexpr XidAction kFence = XidAction::kFenceNode;

constexpr std::array kRules = {
    XidRule{8, kRestart, "GPU stopped processing"},
    XidRule{11, kRestart, "invalid or corrupted push buffer stream"},
    XidRule{13, kRestart, "graphics engine exception"},
    XidRule{31, kRestart, "GPU memory page fault"},
    XidRule{32, kRestart, "invalid or corrupted push buffer stream"},
    XidRule{43, kRestart, "GPU stopped processing"},
    XidRule{45, kRestart, "preemptive cleanup after another error"},
    XidRule{46, kDrain, "GPU stopped processing"},
    XidRule{48, kDrain, "double bit ECC error"},
    XidRule{62, kDrain, "internal micro-controller halt"},
    XidRule{63, kNote, "row remapping or page retirement recorded"},
    XidRule{64, kDrain, "row remapping or page retirement failed"},
    XidRule{68, kRestart, "video decoder error"},
    XidRule{69, kRestart, "graphics engine class error"},
    XidRule{74, kDrain, "NVLink error"},
    XidRule{79, kFence, "GPU has fallen off the bus"},
    XidRule{92, kNote, "high rate of corrected ECC errors"},
    XidRule{94, kRestart, "contained ECC error"},
    XidRule{95, kDrain, "uncontained ECC error"},
    XidRule{109, kDrain, "context switch timeout"},
    XidRule{119, kDrain, "GSP RPC timeout"},
    XidRule{120, kDrain, "GSP error"},
    XidRule{136, kDrain, "NVLink training failed"},
    XidRule{140, kDrain, "unrecovered ECC error"},
    XidRule{143, kDrain, "GPU initialisation error"},
    XidRule{154, kNote, "recovery action changed, informs about another error"},
    XidRule{158, kDrain, "fatal GPU timeout"},
};

}  // namespace

std::string_view xid_action_name(XidAction action) {
  switch (action) {
    case XidAction::kNote: return "note";
    case XidAction::kRestartEngine: return "restart_engine";
    case XidAction::kDrainGpu: return "drain_gpu";
    case XidAction::kFenceNode: return "fence_node";
  }
  return "unknown";
}

XidRule xid_rule(int code) {
  const auto found = std::ranges::find(kRules, code, &XidRule::code);
  return found != kRules.end() ? *found : XidRule{.code = code};
}

XidStep xid_step(XidHistory history, int code, TimePoint now, const XidPolicy& policy) {
  XidAction action = xid_rule(code).action;
  if (action == XidAction::kRestartEngine) {
    std::erase_if(history.restarts, [&](TimePoint at) { return now - at > policy.window; });
    history.restarts.push_back(now);
    if (static_cast<int>(history.restarts.size()) >= policy.restarts_max) {
      action = XidAction::kDrainGpu;
    }
  }
  history.worst = std::max(history.worst, action);
  return {std::move(history), action};
}

}  // namespace kantha::noded
