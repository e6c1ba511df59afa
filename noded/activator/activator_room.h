#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace kantha::noded {

/// What one activator holds at the same time, of all objects together. One executor.
struct ActivatorRoom {
  std::int64_t requests_max = 1024;
  std::int64_t bytes_max = 256 << 20;  ///< of bodies
  std::int64_t requests = 0;
  std::int64_t bytes = 0;
  std::int64_t refused = 0;  ///< so far, for want of room

  /// Why one more is too many; empty: it is not.
  std::string full_for(std::int64_t body_bytes) const {
    if (requests >= requests_max) {
      return std::to_string(requests) + " requests are here already, which is the limit";
    }
    if (bytes + body_bytes > bytes_max) {
      return "the requests that are here hold " + std::to_string(bytes) +
             " bytes, and this one would bring them above " + std::to_string(bytes_max);
    }
    return {};
  }
};

}  // namespace kantha::noded
