#include "noded/gateway/forward_outcome.h"

namespace kantha::noded {

const char* ended_by_name(EndedBy by) {
  switch (by) {
    case EndedBy::kServer: return "server";
    case EndedBy::kDoor: return "door";
    case EndedBy::kClient: return "client";
    case EndedBy::kSlowClient: return "slow_client";
  }
  return "door";
}

}  // namespace kantha::noded
