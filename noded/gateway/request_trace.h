#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/net/http.h"

/// Who a request is, over several programs: its id and its place in a trace. Pure but for the
/// counter of TraceIds; one thread.
namespace kantha::noded {

/// W3C Trace Context, level 1. Ids are lower-case hex.
struct TraceParent {
  std::string trace_id;   ///< 32 digits, not all zero
  std::string parent_id;  ///< 16 digits, not all zero
  std::string flags;      ///< 2 digits
};

/// nullopt for what the recommendation calls invalid.
std::optional<TraceParent> parse_traceparent(std::string_view text);

/// An id that a client may choose: 1 to 128 letters, digits, "-", "_", ".", ":".
bool is_sane_request_id(std::string_view text);

struct RequestTrace {
  std::string request_id;
  std::optional<TraceParent> parent;  ///< as the client sent it
  std::string span_id;                ///< of this door's part; empty without a parent
};

/// Makes ids that nobody guesses: numbers of a seeded sequence.
class TraceIds {
 public:
  explicit TraceIds(std::uint64_t seed) : seed_(seed) {}

  /// Takes x-request-id and traceparent of the request, or makes the former. Sets both as they are
  /// to be passed on: the span's parent is this door. What is not sane, or given more than once, is
  /// replaced (the id) or dropped (the trace, with its tracestate).
  RequestTrace begin(net::Headers& headers);

 private:
  std::string hex(std::size_t digits);

  std::uint64_t seed_;
  std::uint64_t counter_ = 0;
};

}  // namespace kantha::noded
