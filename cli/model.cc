#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "cli/model_inspection.h"
#include "cli/verbs.h"

namespace kantha::cli {
namespace {

int inspect(const std::string& path) {
  const ModelInspection found = inspect_for_people(path);
  if (found.text.empty()) return fail("model inspect", path + ": " + found.refusal);
  std::fputs(found.text.c_str(), stdout);
  return found.refusal.empty() ? kExitDone : kExitFailed;
}

void add_inspect(CLI::App& model, Verb& chosen) {
  CLI::App* verb = model.add_subcommand(
      "inspect", "Tell what a model file is, what it costs to serve, and why it would be refused");
  auto path = std::make_shared<std::string>();
  verb->add_option("path", *path, "GGUF file, or Hugging Face folder")->required();
  verb->callback([path, &chosen] { chosen = [path] { return inspect(*path); }; });
}

}  // namespace

void add_model(CLI::App& app, Verb& chosen) {
  CLI::App* model = app.add_subcommand("model", "Look into model files");
  model->require_subcommand(1);
  add_inspect(*model, chosen);
  add_model_render(*model, chosen);
}

}  // namespace kantha::cli
