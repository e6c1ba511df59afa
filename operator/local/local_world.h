#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/net/http_client.h"
#include "base/net/http_server.h"
#include "base/net/task_group.h"
#include "operator/local/autoscaler.h"
#include "operator/local/condition_log.h"
#include "operator/local/local_pod.h"
#include "operator/local/places.h"
#include "operator/local/replicas_owner.h"
#include "operator/local/rollout_file.h"
#include "operator/local/rollout_verbs.h"
#include "operator/local/spec_file.h"
#include "operator/local/vacancy.h"
#include "operator/local/world_dir.h"
#include "operator/local/world_view.h"
#include "operator/serving/plan.h"
#include "operator/serving/plan_rollout.h"
#include "operator/serving/rollout_evidence.h"

/// The world without Kubernetes: one ModelServing file, processes for pods, no daemon.
///
/// Flow: watch (file, pods, children) → gather → plan → apply, again and again.
/// Guarantees: the public socket is opened once and shared by all pods, so that no connection is
/// refused while pods come and go; an invalid edit keeps the old spec serving; when `run` returns,
/// everything that was started has ended and the run folder is gone; when this process is killed,
/// the kernel ends the pods (base/process.h).
/// Assumptions: one executor on one thread that lives as long as the program (the children's death
/// signal follows the thread); SIGPIPE is ignored.
namespace kantha::local {

struct WorldOptions {
  std::string file;                         ///< the ModelServing's YAML
  net::Endpoint listen{"127.0.0.1", 8000};  ///< port 0: any free one
  Places places;
  /// A noded that answers no question for so long is killed and started again; connections that
  /// waited for it then get the next one.
  Duration noded_hung_after = std::chrono::seconds(30);
  /// How often the pressure is looked at, with spec.autoscaling.
  Duration scale_every = std::chrono::seconds(5);
};

/// What the world tells while it runs; called on the executor. Both must return soon.
struct WorldEvents {
  std::function<void(const WorldView&)> changed;   ///< something in the view is new
  std::function<void(const std::string&)> notice;  ///< a sentence for people
};

class LocalWorld {
 public:
  LocalWorld(boost::asio::any_io_executor executor, const Clock& clock, WorldOptions options,
             WorldEvents events);
  ~LocalWorld();

  /// Reads the file, claims the run folder, opens the sockets. kInvalidArgument: the file (every
  /// problem, one a line); kNotFound: model or program missing; kAlreadyExists: the port or the
  /// name is in use.
  Status open();
  /// Serves until stop; then drains, ends every pod and returns.
  net::Task<void> run();
  /// The first call drains within drain.timeoutSeconds, the second ends everything now.
  void stop();

  const WorldView& view() const { return view_; }
  /// The last lines of a pod's logs, for the message of a failed start. Empty when there are none.
  std::string log_tail() const;

 private:
  struct Desired {
    serving::ModelServing serving;
    serving::Revision revision;
    std::string model_path;
    std::string api_keys_path;
    std::string golden_path;

    PodTarget target() const { return {serving, revision, model_path, api_keys_path, golden_path}; }
  };

  Result<Desired> desired_from(serving::ModelServingFile file) const;
  Result<Desired> desired_of(serving::ModelServing serving) const;
  Status open_sockets();
  Status check_programs() const;
  void adopt_spec(Desired desired);
  void look_at_file();
  Status scale(std::int64_t replicas);
  void look_at_pressure();
  void look_at_zero();
  void take_count(std::int64_t wanted);
  std::string holds_scale_in() const;
  bool somebody_knocks() const;
  void set_replicas(std::int64_t replicas);
  Status patch(const Json& patch);
  serving::Observed gather() const;
  void reconcile();
  /// Moves the rollout on, and divides the pods of `observed` as it says.
  void roll_out(serving::Observed& observed);
  void refresh_last_good();
  void gather_evidence(const serving::Observed& observed);
  /// What a deed's pod is to run.
  PodTarget target_of(const serving::Action& action) const;
  void apply(const serving::Action& action);
  void restart_engine(LocalPod& pod, PodTarget target);
  void note_outcome(const std::string& pod, const Status& outcome);
  void create_pod(std::int64_t ordinal, PodTarget target);
  void remove_gone_pods();
  void answer_for_no_pod();
  void tell_fleet();
  net::Task<void> tell(serving::FleetPlan::Message message, std::shared_ptr<LocalPod> pod);
  /// Those of the plan, and what becomes of fetched weights.
  std::vector<serving::Condition> conditions_of(const serving::Plan& plan) const;
  void publish(const serving::Plan& plan);
  Json object() const;
  net::Task<void> answer(net::HttpRequest request, net::ResponseWriter& writer);

  boost::asio::any_io_executor executor_;
  const Clock& clock_;
  WorldOptions options_;
  WorldEvents events_;
  SpecFile file_;
  net::HttpClient client_;
  net::TaskGroup tasks_;
  net::Notify wake_;
  Vacancy vacancy_;
  std::optional<WorldDir> dir_;
  std::unique_ptr<net::HttpServer> control_;
  net::Endpoint endpoint_;
  int listen_fd_ = -1;
  PodSetting setting_;
  Desired desired_;
  ReplicasOwner replicas_;
  Autoscaler autoscaler_;
  std::map<std::int64_t, std::shared_ptr<LocalPod>> pods_;
  serving::FleetPlan fleet_;
  std::optional<RolloutFile> rollout_file_;
  serving::RolloutState rollout_;
  serving::RolloutEvidence evidence_;
  std::vector<serving::Decision> rollout_decisions_;
  RolloutVerbs verbs_;
  std::string last_good_text_;        ///< of which last_good_ was made
  std::optional<Desired> last_good_;  ///< where a rollout that fails goes back to
  ConditionLog conditions_;
  WorldView view_;
  TimePoint looked_at_{};
  TimePoint act_after_{};     ///< a pod's files could not be written: not before this
  std::string failure_told_;  ///< of such a failure, so that it is told once
  std::int64_t generation_ = 0;
  int stops_ = 0;
  bool settled_ = false;
};

}  // namespace kantha::local
