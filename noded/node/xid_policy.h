#pragma once

#include <cstdint>
#include <deque>
#include <string_view>

#include "base/clock.h"

/// What to do about an error that NVIDIA's driver reports of a GPU (an Xid). Pure; any thread.
///
/// The table follows the immediate actions of NVIDIA's Xid catalogue for Ampere and newer
/// ("Analyzing Xid Errors with the Xid Catalog", docs.nvidia.com/deploy/xid-errors): RESTART_APP →
/// the engine, RESET_GPU and the workflows for ECC and NVLink → the GPU is drained, RESTART_BM →
/// the node is fenced, IGNORE → noted. Codes that it does not name here drain the GPU, since work
/// that goes on after an unknown fault may be wrong.
namespace kantha::noded {

enum class XidAction : std::uint8_t {
  kNote,           ///< running work is fine
  kRestartEngine,  ///< an application's fault, or one contained to it
  kDrainGpu,       ///< take work off it; it needs a reset
  kFenceNode,      ///< a reset does not reach it
};

std::string_view xid_action_name(XidAction action);

/// One line of the catalogue; "unknown" for codes that are not in the table.
struct XidRule {
  int code = 0;
  XidAction action = XidAction::kDrainGpu;
  std::string_view meaning = "unknown";
};
XidRule xid_rule(int code);

struct XidPolicy {
  /// So many engine restarts within the window are the GPU's fault, whatever the codes say.
  int restarts_max = 3;
  Duration window = std::chrono::minutes(10);
};

/// Of one GPU.
struct XidHistory {
  std::deque<TimePoint> restarts = {};
  XidAction worst = XidAction::kNote;  ///< a drained GPU stays drained
};

struct XidStep {
  XidHistory history;
  XidAction action = XidAction::kNote;  ///< what to do now
};

XidStep xid_step(XidHistory history, int code, TimePoint now, const XidPolicy& policy = {});

}  // namespace kantha::noded
