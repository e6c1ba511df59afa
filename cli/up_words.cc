#include "cli/up_words.h"

#include <fmt/format.h>

namespace kantha::cli {
namespace {

constexpr std::int64_t kRestartsUntilHopeless = 3;

/// A string inside single quotes of a shell and double quotes of JSON or Python.
std::string quoted_id(const std::string& text) {
  std::string out;
  for (const char c : dump_json(Json(text))) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::string ready_line(const local::WorldView& view, Duration since_start) {
  return fmt::format("ready: {}/v1  model {}  ({} of {} pods, {:.1f} s)", view.endpoint, view.model,
                     view.counts.available, view.counts.wanted,
                     std::chrono::duration<double>(since_start).count());
}

std::string vacant_line(const local::WorldView& view) {
  if (view.is_asleep()) {
    return fmt::format("no pods: \"{}\" sleeps; the next request to {} waits while one starts",
                       view.name, view.endpoint);
  }
  return fmt::format(
      "no pods: \"{0}\" is scaled to 0; requests to {1} get 503 until: kantha scale {0} --replicas "
      "1",
      view.name, view.endpoint);
}

std::string usage_example(const local::WorldView& view) {
  return fmt::format(
      "  curl {0}/v1/chat/completions -H 'Content-Type: application/json' "
      "-d '{{\"model\": {1}, \"messages\": [{{\"role\": \"user\", \"content\": \"Hello\"}}]}}'\n"
      "  from openai import OpenAI\n"
      "  client = OpenAI(base_url=\"{0}/v1\", api_key=\"none\")\n"
      "  print(client.chat.completions.create(model={2}, messages=[{{\"role\": \"user\", "
      "\"content\": \"Hello\"}}]).choices[0].message.content)",
      view.endpoint, quoted_id(view.model), dump_json(Json(view.model)));
}

std::string hopeless(const local::WorldView& view) {
  if (view.counts.wanted == 0) return "spec.replicas is 0";
  if (view.counts.available > 0) return {};
  for (const local::PodView& pod : view.pods) {
    const bool looping = pod.phase == "crash_loop" ||
                         (pod.phase == "down" && pod.restarts >= kRestartsUntilHopeless);
    if (looping) return pod.name + ": " + (pod.message.empty() ? pod.phase : pod.message);
  }
  return {};
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

}  // namespace kantha::cli
