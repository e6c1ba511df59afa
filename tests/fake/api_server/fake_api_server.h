#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/net/http.h"
#include "base/net/task_group.h"
#include "operator/kube/resource.h"
#include "tests/fake/api_server/api_refusal.h"
#include "tests/fake/api_server/api_request.h"
#include "tests/fake/api_server/object_store.h"
#include "tests/fake/api_server/watch_cursor.h"

/// A Kubernetes API server in memory that behaves as the real one (1.37) wherever a controller can
/// notice: one counter of resourceVersions, generations, finalizers, subresources, paged lists,
/// watches with a window, three kinds of patches, preconditions, owners, terminating namespaces.
/// tests/fake/conformance.py holds it against a real server.
///
/// Two faces stand before it: FakeTransport (in process, on virtual time) and HttpFace (a port).
/// Flow: request → access rule → verb → rules of the kind → store → watches. answer() is immediate;
/// only watches and the garbage collector take time. One executor; one thread.
namespace kantha::fake {

struct ServerOptions {
  std::uint64_t seed = 1;
  HistoryLimits history = {};
  Duration bookmark_interval = std::chrono::seconds(60);
  Duration watch_timeout_min = std::chrono::minutes(5);  ///< to twice of it, by the seed
  bool sends_bookmarks = true;
  bool supports_watch_list = true;     ///< else sendInitialEvents is refused with 422
  bool expired_as_status = false;      ///< 410 as the watch's HTTP status, not in its stream
  bool renders_managed_fields = true;  ///< objects carry metadata.managedFields
  Duration collector_delay = std::chrono::milliseconds(100);
};

/// What an access rule decides on.
struct Access {
  std::string user;  ///< User-Agent up to '/'
  std::string verb;
  std::string group;
  std::string plural;
  std::string name_space;
  std::string name;
  std::string subresource;
};

/// An answer, or a watch that was opened (status 200).
struct Answer {
  net::HttpResponse response;
  std::unique_ptr<WatchCursor> watch = {};
};

/// The autoscaling/v1 Scale of an object.
Json scale_of(const Json& object);

class FakeApiServer {
 public:
  FakeApiServer(boost::asio::any_io_executor executor, const Clock& clock,
                ServerOptions options = {});
  ~FakeApiServer();

  Answer answer(const net::HttpRequest& request, const ReadViewPtr& view = nullptr);
  /// Wakes when any object changed.
  net::Notify& changed() { return changed_; }

  // What a test arranges.
  /// False refuses with 403.
  void set_access_rule(std::function<bool(const Access&)> rule) { access_rule_ = std::move(rule); }
  /// A refusal for a new object (quota, admission); after the server's own rules.
  using Admission = std::function<std::optional<Refusal>(const Kind&, const Json&)>;
  void set_admission(Admission admission) { admission_ = std::move(admission); }
  /// Installs a CustomResourceDefinition as the API does.
  void install(const Json& definition);
  /// ModelServing with a status and a scale subresource and an open schema.
  void install_model_servings();
  /// Old versions are gone, as after a compaction.
  void compact() { store_.compact_all(); }

  // What a test or a part of the fake cluster (kubelet, user) reads and does.
  ObjectPtr find(const kube::Resource& resource, const kube::ObjectKey& key);
  std::vector<ObjectPtr> all(const kube::Resource& resource, const std::string& name_space = {});
  /// Creates through POST; CHECKs that it was taken.
  ObjectPtr create(const kube::Resource& resource, const Json& object, const std::string& manager);
  /// Reads, lets `edit` change it, writes, past the rules of the kind (a kubelet sets nodeName).
  /// False when there is no such object.
  bool edit(const kube::Resource& resource, const kube::ObjectKey& key,
            const std::function<void(Json&)>& edit, const std::string& manager,
            const std::string& subresource = {});
  /// DELETE; grace nullopt is the object's own. False: there is none.
  bool remove(const kube::Resource& resource, const kube::ObjectKey& key,
              const std::string& manager, std::optional<int> grace_seconds = {});

  ObjectStore& store() { return store_; }
  const std::vector<WriteRecord>& writes() const { return store_.writes(); }
  const ServerOptions& options() const { return options_; }
  ServerOptions& options() { return options_; }

  /// Deletes what has no owner any more, empties terminating namespaces; until stop().
  net::Task<void> run_collector();
  /// One pass of it, at once.
  void collect_garbage();
  void stop();

 private:
  friend class WriteVerbs;
  friend class DeleteVerb;

  std::optional<Refusal> check_access(const ApiRequest& request);
  net::HttpResponse answer_other(const ApiRequest& request);
  net::HttpResponse get(const ApiRequest& request, const Table& table);
  net::HttpResponse list(const ApiRequest& request, Table& table, const ReadViewPtr& view);
  Answer watch(const ApiRequest& request, Table& table, const ReadViewPtr& view);
  net::HttpResponse write(const ApiRequest& request, Table& table);
  void definition_changed(const Change& change);
  /// Notes what the collector has to look at after a change.
  void suspect(const Table& table, const Change& change);
  void collect_one(Table& table, const std::string& path);
  void empty_namespace(const std::string& name);
  /// Deletes the objects of a kind whose definition is being deleted, then lets that go.
  void clean_kind(Table& definitions, const ObjectPtr& definition);

  boost::asio::any_io_executor executor_;
  ServerOptions options_;
  ObjectStore store_;
  net::Notify changed_;
  net::Notify collector_wakes_;
  std::function<bool(const Access&)> access_rule_;
  Admission admission_;
  std::set<std::pair<Table*, std::string>> suspects_;  ///< what the collector has to look at
  std::uint64_t watch_count_ = 0;
  bool is_stopped_ = false;
};

}  // namespace kantha::fake
