#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/net/http.h"

/// Whose clients ask, and so how the door's own errors are written for them. Pure; any thread.
namespace kantha::noded {

enum class DoorDialect : std::uint8_t {
  kOpenAi,
  kMessages,  ///< Anthropic's: {"type":"error","error":{…}}
  kOllama,    ///< {"error":"…"}, and streams of lines
};

/// By the request's path.
DoorDialect dialect_of(std::string_view path);

/// An answer of the door's own with OpenAI's error object (door_error), as the dialect has it.
/// Status and headers stay.
net::HttpResponse in_dialect(DoorDialect dialect, net::HttpResponse answer);

/// The last bytes of a stream that breaks off after `last_byte`, in the middle of an event or not.
std::string broken_stream_end(DoorDialect dialect, std::string_view message, char last_byte);

/// Events in the bytes of such a stream, where the byte before them was `last`, which is moved on.
std::int64_t count_stream_events(DoorDialect dialect, std::string_view bytes, char& last);

}  // namespace kantha::noded
