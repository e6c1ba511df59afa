#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/metrics.h"
#include "base/net/task.h"
#include "base/result.h"
#include "operator/kube/api_fault.h"
#include "operator/kube/lean_text.h"
#include "operator/kube/rate_limiter.h"
#include "operator/kube/resource.h"
#include "operator/kube/transport.h"
#include "operator/kube/watch_decoder.h"

/// The verbs of the Kubernetes API on JSON objects. One executor; not thread-safe.
///
/// Every failure is an Error whose fault_of() is set (api_fault.h). Nothing is retried here: the
/// caller's next pass is the retry. Every call waits for the rate limiter first and has a deadline.
/// Source: Kubernetes docs, "API Concepts".
namespace kantha::kube {

/// How much of each object an answer holds, managedFields left out in any case. kMetadata is asked
/// for as PartialObjectMetadata; a server that does not know that answers with the whole. To a
/// write it means less: annotations and ownerReferences come empty.
enum class Content : std::uint8_t { kWhole, kMetadata };

struct ListOptions {
  std::string label_selector = {};
  std::string field_selector = {};          ///< "involvedObject.name=a,reason=b"
  std::string resource_version = {};        ///< "0": from the server's cache; empty: quorum read
  std::string resource_version_match = {};  ///< "NotOlderThan" or "Exact"
  std::int64_t limit = 500;                 ///< objects in one page
  std::string continue_token = {};
  Content content = Content::kWhole;
  MemberNames unread = {};  ///< members that come empty, wherever they stand (lean_text.h)
};

/// One page of a collection. Objects carry no apiVersion and kind of their own.
struct ObjectPage {
  std::vector<Json> items;
  std::string resource_version;
  std::string continue_token;  ///< empty: the last page
};

struct WatchOptions {
  std::string label_selector = {};
  std::string resource_version = {};
  bool send_initial_events = false;  ///< WatchList: asks for bookmarks and NotOlderThan with it
  Duration server_timeout = std::chrono::seconds(300);  ///< the server ends the watch after this
  Content content = Content::kWhole;
  MemberNames unread = {};  ///< as in ListOptions
};

/// A watch that is open. Destroying it closes the connection.
class Watch {
 public:
  virtual ~Watch() = default;
  /// The next events, in order; an empty vector when the server ended the watch properly.
  /// kDeadlineExceeded: nothing for `idle_timeout` (may be called again); any other error: over.
  virtual net::Task<Result<std::vector<WatchEvent>>> read(Duration idle_timeout) = 0;
  virtual void cancel() = 0;
};

enum class PatchKind : std::uint8_t { kApply, kMerge, kJson };

struct PatchOptions {
  PatchKind kind = PatchKind::kApply;
  std::string field_manager = {};  ///< kApply only
  bool force = false;              ///< kApply only: take fields that another manager owns
  std::string subresource = {};
  Content answer = Content::kWhole;
};

/// A delete happens only if the object still is the one that was decided on.
struct DeleteOptions {
  std::string uid = {};               ///< precondition; required for every delete of ours
  std::string resource_version = {};  ///< precondition; empty: none
  std::optional<std::int64_t> grace_seconds = {};
  std::string propagation = "Background";
};

class ApiClient {
 public:
  ApiClient(Transport& transport, RateLimiter& limiter, MetricRegistry& metrics);

  net::Task<Result<Json>> get(Resource resource, ObjectKey key);
  net::Task<Result<ObjectPage>> list(Resource resource, std::string name_space,
                                     ListOptions options);
  net::Task<Result<std::unique_ptr<Watch>>> watch(Resource resource, std::string name_space,
                                                  WatchOptions options);
  /// POST. kAlreadyExists when the name is taken.
  net::Task<Result<Json>> create(Resource resource, std::string name_space, std::string body,
                                 Content answer = Content::kWhole);
  /// PATCH; gives the object as it is now.
  net::Task<Result<Json>> patch(Resource resource, ObjectKey key, std::string body,
                                PatchOptions options);
  /// PUT; body carries metadata.resourceVersion. For Leases.
  net::Task<Result<Json>> replace(Resource resource, ObjectKey key, std::string body);
  net::Task<Status> remove(Resource resource, ObjectKey key, DeleteOptions options);
  /// GET of any path, as text ("/version").
  net::Task<Result<std::string>> get_raw(std::string path);

  void set_call_timeout(Duration timeout) { call_timeout_ = timeout; }

 private:
  net::Task<void> wait_for_turn();
  void count(std::string_view verb, std::string_view plural, const std::string& code,
             TimePoint begun);
  /// Passes the error on; a throttled call holds the others back for a moment.
  Error refused(Error error);
  net::Task<Result<net::HttpResponse>> exchange(std::string_view verb, std::string_view plural,
                                                net::HttpRequest request);

  /// The series of calls of one verb, kind and outcome; finding one costs as much as a small call.
  struct Series {
    Counter& requests;
    Histogram& seconds;
  };

  Transport& transport_;
  RateLimiter& limiter_;
  MetricRegistry& metrics_;
  Histogram& limiter_wait_;
  std::map<std::string, Series> series_;
  Duration call_timeout_ = std::chrono::seconds(15);
};

}  // namespace kantha::kube
