#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/net/http.h"

/// What a server's answer to a request for (the rest of) a file means. Pure; any thread.
///
/// The SHA-256 decides in the end what a file is; the rules here see to it that bytes of two
/// different files are not put together in the first place, and name what is wrong.
namespace kantha::noded {

/// What is known of the bytes that a part file holds (RFC 9110: validators).
struct PartNote {
  std::string source;         ///< digest of the address that they came from
  std::string etag;           ///< as sent, with quotes
  std::string last_modified;  ///< as sent
  std::int64_t total = -1;    ///< bytes of the whole file; -1: not known
  bool operator==(const PartNote&) const = default;
};

/// A request: the bytes from `offset` on, of a file of which `note` is known.
struct FileAsk {
  std::int64_t offset = 0;
  PartNote note = {};
  std::string source = {};          ///< digest of the address that is asked
  std::int64_t expected_bytes = 0;  ///< of the whole file, by the specification; 0: not known

  /// Validators of another address say nothing about this one.
  bool is_same_source() const { return note.source == source; }
};

/// Range and If-Range, when there is something to go on from; and no compression.
net::Headers ask_headers(const FileAsk& ask);

enum class AnswerKind : std::uint8_t {
  kAppend,      ///< the body goes on at the offset
  kStartOver,   ///< the body is the whole file
  kWholeThere,  ///< nothing is left to fetch
  kAskAnew,     ///< what is there does not fit this file: forget it and ask from 0
  kRedirect,
  kRetry,   ///< later, or elsewhere
  kRefuse,  ///< asking this address again does not help
};

struct AnswerVerdict {
  AnswerKind kind = AnswerKind::kRetry;
  std::string why = {};       ///< for people; set for kAskAnew, kRetry, kRefuse
  std::string location = {};  ///< of a redirect
  PartNote note = {};         ///< of the file as answered; for kAppend, kStartOver, kWholeThere
  Duration retry_after{};     ///< what the server asked for; 0 when it did not
};

AnswerVerdict judge_answer(const FileAsk& ask, int status, const net::Headers& headers);

}  // namespace kantha::noded
