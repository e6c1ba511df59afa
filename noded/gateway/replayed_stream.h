#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

/// Streams of the other APIs over a change of engines. Pure; one thread.
///
/// Their events carry no token ids, so another engine cannot be told where to go on. It is asked
/// the same with the same seed instead, answers the same text from its beginning (an answer does
/// not depend on who else is served), and what the client has already is left out. Each byte of it
/// is compared: where the engines differ the stream ends with an error. Guarantees: one opening,
/// one end, every character once, the first engine's ids; Responses' events are numbered without a
/// gap. Memory: the text, bounded, and one event.
namespace kantha::noded {

enum class ReplayFormat : std::uint8_t {
  kMessages,   ///< /v1/messages: named events
  kResponses,  ///< /v1/responses: named events with numbers
  kOllama,     ///< /api/chat, /api/generate: a line each
};

/// nullopt: streams of that path are not replayed.
std::optional<ReplayFormat> replay_format_of(std::string_view path);

/// The body with `seed`, where it names none; nullopt when it is no JSON object.
std::optional<std::string> with_seed(std::string_view body, std::int64_t seed);

class ReplayedStream {
 public:
  explicit ReplayedStream(ReplayFormat format) : format_(format) {}

  /// An engine's bytes as they come; gives those for the client. Whole events only, unless they are
  /// not understood: then bytes pass as they are, and nobody can go on with the stream.
  std::string feed(std::string_view bytes);
  /// From now on the bytes come from another engine, which begins anew.
  void next_engine();

  bool can_continue() const { return !raw_ && !differs_; }
  /// The client has the last event, or the error of its own request.
  bool finished() const { return finished_; }
  /// The engine said that it takes nothing now; its error was kept back.
  bool engine_gave_up() const { return gave_up_; }
  /// And it was another pod's, whose engine somebody had ended.
  bool engine_was_ended() const { return was_ended_; }
  /// This engine says something else than the one before: no more of it is passed on.
  bool differs() const { return differs_; }
  /// That the client has, about.
  std::size_t text_bytes() const { return text_.size(); }

 private:
  /// Marks are all events that carry no piece of a text: openings, ends, whole calls.
  enum class Kind : std::uint8_t { kMark, kText, kPing, kError, kUnknown };
  /// What an event is; `text` stands in its JSON.
  struct Event {
    Kind kind = Kind::kUnknown;
    std::string* text = nullptr;
    std::string flow = {};  ///< which of the answer's texts that continues
    bool is_last = false;
  };

  static Event read_messages(OrderedJson& json);
  static Event read_responses(OrderedJson& json);
  static Event read_ollama(OrderedJson& json);
  Event read(OrderedJson& json) const;
  void take(std::string_view raw, std::string& out);
  void take_mark(const Event& event, std::string_view raw, OrderedJson& json, std::string& out);
  void take_text(const Event& event, std::string_view raw, OrderedJson& json, std::string& out);
  void note_ids(const OrderedJson& json);
  void pass(std::string_view raw, OrderedJson& json, std::string& out);
  std::string_view delimiter() const { return format_ == ReplayFormat::kOllama ? "\n" : "\n\n"; }

  const ReplayFormat format_;
  std::string pending_;
  std::string text_;       ///< that the client has: each text after its flow's name
  std::size_t said_ = 0;   ///< by this engine, of that
  std::string flow_;       ///< that this engine is in
  std::size_t marks_ = 0;  ///< of this engine
  std::size_t shown_marks_ = 0;
  bool is_first_ = true;  ///< the bytes come from the first engine
  bool finished_ = false;
  bool gave_up_ = false;
  bool was_ended_ = false;
  bool differs_ = false;
  bool raw_ = false;
  /// What tells answers apart, in the order in which they come: ids, and a time.
  std::vector<std::string> first_ids_;
  std::vector<std::string> ids_;
  OrderedJson created_;
  std::int64_t next_number_ = 0;
};

}  // namespace kantha::noded
