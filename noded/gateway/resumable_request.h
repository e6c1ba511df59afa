#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/ids.h"
#include "noded/gateway/json_outline.h"

/// A generation request that another engine can go on with. Pure; any thread.
///
/// Which: a streamed chat or text completion of one prompt and one sample. Everything else (bodies
/// that are no JSON, several prompts, n > 1, whole answers, bodies near the size limit) passes the
/// door unchanged; what is not streamed and was not answered is simply asked again.
/// How: the client's bytes stay as they are, in their order and spelling; only the members named
/// below are put in or replaced, so that a seed beyond 2^53 keeps its digits.
namespace kantha::noded {

/// What an engine is told of those before it.
struct ResumePoint {
  std::span<const TokenId> token_ids = {};  ///< output tokens that the client has
  std::string_view seed = {};               ///< the first engine's, as digits; empty: not known
  Duration elapsed{};                       ///< since the request arrived
};

class ResumableRequest {
 public:
  /// `path` is the request's path. nullopt: the request passes unchanged and cannot be resumed.
  static std::optional<ResumableRequest> read(std::string_view path, std::string_view body);

  /// The client itself asked for kantha.return_token_ids.
  bool wants_token_ids() const { return wants_token_ids_; }

  /// What the engine gets; `body` is the one that was read. kantha.return_token_ids is true; with
  /// tokens, kantha.resume names them after those that the client itself resumed from; `seed` is
  /// set where the client gave none; kantha.timeout_ms is what is left of it.
  std::string body_for(std::string_view body, const ResumePoint& point) const;

 private:
  struct Edit;

  /// How a member stands in its object.
  enum class Presence : std::uint8_t { kAbsent, kNull, kGiven };

  bool read_vendor(std::string_view body, JsonSpan value);
  bool read_resume(std::string_view body, JsonSpan value);
  Edit vendor_edit(const ResumePoint& point) const;

  std::size_t close_ = 0;  ///< where the body's closing brace stands
  Presence seed_ = Presence::kAbsent;
  JsonSpan seed_at_;
  Presence vendor_ = Presence::kAbsent;
  JsonSpan vendor_at_;
  std::size_t vendor_close_ = 0;
  bool vendor_has_members_ = false;
  bool wants_token_ids_ = false;
  std::optional<JsonSpan> return_ids_at_;
  Presence resume_ = Presence::kAbsent;
  JsonSpan resume_at_;
  std::size_t resumed_close_ = 0;  ///< of the client's own kantha.resume.token_ids
  bool resumed_any_ = false;
  std::optional<JsonSpan> timeout_at_;
  std::int64_t timeout_ms_ = 0;
};

}  // namespace kantha::noded
