#include "cli/explain_text.h"

#include <fmt/format.h>

#include "cli/pod_table.h"

namespace kantha::cli {
namespace {

constexpr std::size_t kEventsShown = 10;

std::string text_at(const Json& json, const char* path) {
  const Json::json_pointer pointer(path);
  return json.contains(pointer) && json.at(pointer).is_string()
             ? printable(json.at(pointer).get<std::string>())
             : std::string();
}

std::string event_time(const Json& event) {
  for (const char* path : {"/lastTimestamp", "/eventTime", "/firstTimestamp"}) {
    if (std::string text = text_at(event, path); !text.empty()) return text;
  }
  return "-";
}

}  // namespace

std::string explain_world(const local::WorldView& view) {
  const serving::ReplicaCounts& counts = view.counts;
  std::string out = pod_table(view);
  out += fmt::format("\nwanted {}, existing {}, ready {}, available {}, updated {} ({})\n\n",
                     counts.wanted, counts.existing, counts.ready, counts.available, counts.updated,
                     view.target_revision.empty() ? "no revision yet" : view.target_revision);
  std::vector<std::vector<std::string>> rows = {
      {"CONDITION", "STATUS", "REASON", "SINCE", "MESSAGE"}};
  for (const local::ConditionView& entry : view.conditions) {
    const serving::Condition& condition = entry.condition;
    rows.push_back(
        {printable(condition.type), std::string(serving::condition_status_name(condition.status)),
         printable(condition.reason), printable(entry.since), printable(condition.message)});
  }
  if (rows.size() == 1) return out + "No conditions yet: no operator has looked at this object.\n";
  return out + align_columns(rows) + explain_scaling(view);
}

std::string explain_scaling(const local::WorldView& view) {
  std::string out;
  if (!view.scaling.empty()) {
    out += "\nHow many pods:\n";
    for (const std::string& line : view.scaling) out += "  " + printable(line) + "\n";
  }
  if (view.decisions.empty()) return out;
  std::vector<std::vector<std::string>> rows = {{"DECISION", "KIND", "CHANGE", "REASON", "FROM"}};
  for (const serving::Decision& made : view.decisions) {
    rows.push_back({local::rfc3339(made.at), printable(made.kind),
                    printable(made.from) + " → " + printable(made.to), printable(made.reason),
                    printable(made.inputs)});
  }
  return out + "\n" + align_columns(rows);
}

std::string explain_events(const std::vector<Json>& events) {
  if (events.empty()) return "No events.\n";
  std::vector<std::vector<std::string>> rows = {{"EVENT", "TYPE", "REASON", "ABOUT", "MESSAGE"}};
  const std::size_t first = events.size() > kEventsShown ? events.size() - kEventsShown : 0;
  for (std::size_t i = first; i < events.size(); ++i) {
    const Json& event = events[i];
    rows.push_back({event_time(event), text_at(event, "/type"), text_at(event, "/reason"),
                    text_at(event, "/involvedObject/name"), text_at(event, "/message")});
  }
  return align_columns(rows);
}

std::string explain_plan(const PlanView& view) {
  const serving::Plan& plan = view.plan.plan;
  std::string out = "An operator would now ";
  if (view.plan.release_finalizer) {
    out += "let the object go: nothing is left to drain.\n";
  } else if (plan.actions.empty()) {
    out += plan.settled ? "do nothing: everything wanted is there.\n"
                        : "do nothing and wait: what was begun is under way, or the conditions "
                          "say what stands in the way.\n";
  } else {
    out += "do this:\n";
    for (const serving::Action& action : plan.actions) {
      out += fmt::format("  {} {}: {}\n", serving::action_name(action.kind), printable(action.pod),
                         printable(action.reason));
    }
  }
  if (!view.assumption.empty()) out += "(Assumed: " + printable(view.assumption) + ".)\n";
  return out;
}

}  // namespace kantha::cli
