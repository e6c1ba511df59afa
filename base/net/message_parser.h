#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/net/http.h"
#include "base/result.h"

/// Framing and fields of one HTTP/1.1 message, read by Beast; the only page that compiles it.
namespace kantha::net {

struct MessageBounds {
  std::size_t head_bytes_max = 64u << 10;
  std::size_t header_count_max = 256;
  std::uint64_t body_bytes_max = UINT64_MAX;
  std::size_t chunk_count_max = SIZE_MAX;
};

enum class MessageKind : unsigned char {
  kRequest,
  kResponse,
  kResponseToHead,  ///< has the fields of a body, but none follows
};

/// One message, fed in pieces. Not thread-safe.
class MessageParser {
 public:
  MessageParser(MessageKind kind, MessageBounds bounds);
  ~MessageParser();

  /// Takes bytes of the stream (not none) and says how many it used; the caller keeps the rest and
  /// gives them again at the front of the next call. Uses nothing beyond the message's end.
  /// kOutOfRange beyond a bound, kInvalidArgument when malformed.
  Result<std::size_t> feed(std::string_view bytes);
  /// The peer closed its side: the end of a body without a length, kDataLoss in the middle.
  Status feed_end();

  bool head_done() const;
  bool done() const;
  /// Whether the connection can carry another message after this one. After head_done.
  bool keep_alive() const;

  /// After head_done; for requests.
  const std::string& method() const;
  const std::string& target() const;
  /// After head_done; for answers.
  int status() const;
  /// Fields of the head; trailers are dropped.
  Headers& headers();
  /// Body bytes since the last call.
  std::string take_body();

 private:
  struct Body;
  std::unique_ptr<Body> body_;
};

}  // namespace kantha::net
