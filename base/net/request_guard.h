#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/net/http.h"

/// Checks of the raw bytes of a request's head, before any parser sees them. Pure functions.
///
/// Two programs that read one byte stream differently can be played against each other (request
/// smuggling), so whatever RFC 9112 leaves to a reader's kindness is refused here: bare LF,
/// obs-fold, blanks before the colon, control characters, repeated or odd Content-Length,
/// Content-Length beside Transfer-Encoding, codings other than chunked, none or several Host.
namespace kantha::net {

/// Why a request is not served: the status of the answer and a sentence for its body.
struct Refusal {
  int status = 400;
  std::string message = {};
};

/// What the head says about framing and the connection.
struct RequestFacts {
  bool is_head = false;
  bool is_http_10 = false;
  bool keep_alive = true;
  bool expects_continue = false;
  bool has_body = false;
};

/// Finds the end of a head in bytes that arrive in pieces, at linear cost in all.
class HeadScanner {
 public:
  explicit HeadScanner(const HttpLimits& limits) : limits_(limits) {}

  struct Found {
    /// Bytes of the head with its empty line; 0 while more must be read.
    std::size_t head_bytes = 0;
    std::optional<Refusal> refusal = {};
  };
  /// `buffer` is everything received since the head's first byte. Refuses bare LF, a first byte
  /// that starts no method (TLS, say), a long request line (414) and a long head (431) as soon as
  /// they show.
  Found scan(std::string_view buffer);

 private:
  const HttpLimits& limits_;
  std::size_t scanned_ = 0;
  std::size_t line_start_ = 0;
  std::size_t fields_start_ = 0;
  bool in_request_line_ = true;
};

struct HeadVerdict {
  std::optional<Refusal> refusal = {};
  RequestFacts facts = {};
};

/// Judges a whole head, from the method's first byte to the empty line's LF.
HeadVerdict check_request_head(std::string_view head, const HttpLimits& limits);

}  // namespace kantha::net
