#include <cstdio>
#include <memory>
#include <string>

#include "cli/prompt_rendering.h"
#include "cli/verbs.h"

namespace kantha::cli {
namespace {

int render(const RenderRequest& request) {
  const Result<std::string> text = rendered_prompt(request);
  if (!text.ok()) {
    fail("model render", text.error().message);
    const bool bad_file = text.error().code == Code::kNotFound;
    return bad_file ? kExitUsage : kExitFailed;
  }
  std::fwrite(text->data(), 1, text->size(), stdout);
  return kExitDone;
}

}  // namespace

void add_model_render(CLI::App& model_verb, Verb& chosen) {
  CLI::App* verb = model_verb.add_subcommand(
      "render", "Print a conversation as a model's chat template writes it");
  auto request = std::make_shared<RenderRequest>();
  CLI::Option* source = verb->add_option("--template", request->template_path, "Jinja file");
  CLI::Option* model =
      verb->add_option("--model", request->model_path, "GGUF file with a template in it");
  source->excludes(model);
  verb->add_option("--messages", request->messages_path,
                   "JSON file: an array of messages, or a whole request")
      ->required();
  verb->add_option("--tools", request->tools_path, "JSON file: an array of tools");
  verb->add_option("--set", request->variables,
                   "Further variables, as JSON: '{\"enable_thinking\": false}'");
  verb->add_flag("!--no-generation-prompt", request->add_generation_prompt,
                 "Leave out what begins the answer");
  CLI::Option* pieces = verb->add_flag("--pieces", request->as_pieces,
                                       "Print JSON that tells what came from the request");
  verb->add_flag("--ids", request->as_ids, "Print the prompt's token ids")
      ->needs(model)
      ->excludes(pieces);
  verb->callback([request, &chosen] {
    if (request->template_path.empty() && request->model_path.empty()) {
      throw CLI::RequiredError("--template or --model");
    }
    chosen = [request] { return render(*request); };
  });
}

}  // namespace kantha::cli
