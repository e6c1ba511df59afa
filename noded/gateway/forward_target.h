#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/net/http.h"
#include "base/net/task.h"
#include "noded/engine/engine_gate.h"

/// Where a request goes: the seam between forwarding (hold, send, relay, resume) and the choice of
/// the server. One executor.
///
/// The forwarder asks for a server at each turn, sends, and says how it went. A chooser decides and
/// remembers (loads, breakers); it never sends. Servers are engines and other pods' doors; both
/// take the same requests, and both can go on with a stream by kantha.resume.
namespace kantha::noded {

/// One server that a request can be sent to.
struct ForwardTarget {
  std::string name;  ///< unique; for logs, for `tried` and as the outcome's `target`
  net::Endpoint endpoint;
  bool is_local = true;  ///< this pod's own engine, and not another pod's door
  /// Put into the request, over what the client sent (a mark that it has made its one hop).
  net::Headers headers = {};
};

/// How one try ended.
enum class TargetEnd : std::uint8_t {
  kAnswered,     ///< with a whole answer of its own, whatever its status
  kRefused,      ///< it took nothing on: it drains, is full, or has no engine
  kUnreachable,  ///< no connection, or none that took the request
  kCut,          ///< it took the request, and its connection ended before the answer did
  kGaveUp,       ///< it said in the middle of a stream that it ends
  kSilent,       ///< it gave no sign in time
  kRecalled,     ///< the door took the request back, or the client left
};

struct TriedTarget {
  std::string name;
  TargetEnd end = TargetEnd::kAnswered;
  TimePoint at{};
};

/// One question to a chooser.
struct TargetAsk {
  const net::HttpRequest& request;  ///< as the client sent it, without hop-by-hop fields
  /// Where it was already, in order; at most the last 32.
  const std::vector<TriedTarget>& tried;
  bool local_allowed = true;  ///< false while this pod's engine is being replaced
  bool is_running = false;    ///< its client has a beginning, be it a sign of life: no 503 any more
  bool local_last = false;    ///< this pod leaves: its own engine only where nobody else is
  /// The chooser's own note on this request, empty at the first question: what it worked out from
  /// the body stays here instead of being worked out at each turn.
  std::optional<std::uint64_t>& memo;
};

struct TargetChoice {
  /// Nothing: there is nobody now; ask again later.
  std::optional<ForwardTarget> target;
  bool hopeless =
      false;        ///< and nobody is to be expected: a request that is new is refused at once
  std::string why;  ///< there is nobody, as a sentence for people
};

class TargetChooser {
 public:
  virtual ~TargetChooser() = default;
  /// Does not wait.
  virtual TargetChoice choose(const TargetAsk& ask) = 0;
  /// Somebody else than this pod's engine could take a request now.
  virtual bool knows_others() { return false; }
  /// Returns when another answer of choose() is likely, or after the timeout.
  virtual net::Task<void> wait_for_change(Duration timeout) = 0;
  /// The request is on its way; one call of ended() follows each.
  virtual void began(const ForwardTarget& target) = 0;
  /// The head of an answer came. False: it is not to be passed on; the server took nothing on, or
  /// is not who it should be, and ended() follows with kRefused.
  virtual bool answered(const ForwardTarget& target, int status, const net::Headers& headers) = 0;
  virtual void ended(const ForwardTarget& target, TargetEnd end) = 0;
  /// How the engines of that server ended so far; nothing is known of others' by default.
  virtual EngineEnds ends(const ForwardTarget& target) const = 0;
};

/// ForwardTarget::name of this pod's own engine.
inline constexpr char kLocalTargetName[] = "engine";

/// The chooser of a pod that knows no other: its engine, while that is ready.
class LocalTarget final : public TargetChooser {
 public:
  explicit LocalTarget(EngineGate& gate) : gate_(gate) {}

  TargetChoice choose(const TargetAsk& ask) override;
  net::Task<void> wait_for_change(Duration timeout) override;
  void began(const ForwardTarget&) override {}
  bool answered(const ForwardTarget&, int, const net::Headers&) override { return true; }
  /// A try that failed makes the gate look again.
  void ended(const ForwardTarget& target, TargetEnd end) override;
  EngineEnds ends(const ForwardTarget& target) const override;

 private:
  EngineGate& gate_;
};

}  // namespace kantha::noded
