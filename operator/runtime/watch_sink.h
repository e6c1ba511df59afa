#pragma once

#include <functional>
#include <string>

#include "base/json.h"

/// What a watcher does to its store: a Store<T> behind plain functions, so that the watcher is no
/// template. One executor; every function is set (`sink_of` in store.h makes one).
namespace kantha::runtime {

/// A whole list comes object by object, so that only its decoded form is ever held: begin_list,
/// stage and unstage any number of times, then publish, which makes it the store's content at once.
/// A list that fails in the middle is followed by the next begin_list and never published.
struct WatchSink {
  std::function<void()> begin_list;                 ///< drops what was staged before
  std::function<void(const Json& object)> stage;    ///< adds to the list, or replaces in it
  std::function<void(const Json& object)> unstage;  ///< was deleted while the list was read
  std::function<void(std::string resource_version)> publish;
  std::function<void(const Json& object)> apply;  ///< added or modified
  std::function<void(const Json& object)> erase;  ///< deleted; the object as it was last
  std::function<void(std::string resource_version)> seen_version;  ///< bookmark
  /// True: the API server refuses to say what is there (access revoked, kind deleted), so the
  /// content is what it was when it last did.
  std::function<void(bool is_stale)> set_stale;
};

/// metadata.resourceVersion of any JSON; empty when there is none.
std::string version_of(const Json& object);

}  // namespace kantha::runtime
