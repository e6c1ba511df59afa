#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "operator/kube/api_client.h"
#include "operator/runtime/watcher_step.h"
#include "tests/operator/runtime/lamp.h"

/// A model of an API server for one kind, without I/O: it keeps every state that it was in, so that
/// what a watcher holds can be compared with what was true at its version.
namespace kantha::runtime {

/// What a server did to lamps, and what it answers. Versions count up from 1.
class LampServer {
 public:
  explicit LampServer(bool knows_watch_list) : knows_watch_list_(knows_watch_list) { remember(); }

  // The world's side.
  void put(const std::string& name, const std::string& color);  ///< empty: one without a color
  void remove(const std::string& name);
  /// What is before that version is no longer served.
  void compact(int version) { compacted_ = version; }
  int version() const { return version_; }
  /// "a/u1@3=red …" of the lamps that can be decoded, at a version.
  const std::string& state_at(int version) const { return states_.at(version); }

  // The watcher's side.
  Result<kube::ObjectPage> list(const WatchDeed& deed);
  /// Opens a watch; a later one replaces it.
  Status open(const WatchDeed& deed);
  /// The next event; nullopt: none for now.
  std::optional<kube::WatchEvent> next_event();
  void send_bookmark() { owes_bookmark_ = true; }
  /// The server forgets its watch and every continue token.
  void forget_tokens() { tokens_.clear(); }

 private:
  struct Past {
    int version;
    kube::WatchEvent event;
  };
  struct Token {
    std::vector<Json> rest;
    int version;
  };
  void remember();
  void record(kube::WatchEventType type, Json object);
  Json bookmark(bool is_end) const;
  kube::ObjectPage page_of(std::vector<Json> objects, int version, std::int64_t limit);

  bool knows_watch_list_;
  int version_ = 1;
  int compacted_ = 0;
  int uids_ = 0;
  int token_count_ = 0;
  std::map<std::string, Json> lamps_;
  std::map<int, std::string> states_;
  std::map<int, std::vector<Json>> contents_;  ///< for lists from the cache
  std::vector<Past> past_;
  std::map<std::string, Token> tokens_;

  std::vector<kube::WatchEvent> initial_;  ///< of the open watch, in reverse
  int sent_version_ = 0;
  bool owes_bookmark_ = false;
};

/// The failure that an API server, or the way to it, would give.
Error fault_error(kube::ApiFault fault);
/// "a/u1@3=red …" of what a store holds.
std::string state_of(const Store<Lamp>& store);

}  // namespace kantha::runtime
