#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

/// What `kantha model render` prints: a conversation as a model's template writes it.
namespace kantha::cli {

/// Paths and choices of the command line; exactly one of the first two is given.
struct RenderRequest {
  std::string template_path;  ///< a Jinja file
  std::string model_path;     ///< a GGUF file with a template in it
  std::string messages_path;  ///< an array of messages, or a whole request with "messages" in it
  std::string tools_path;     ///< an array of tools; empty: those of the request, or none
  std::string variables;      ///< JSON object of further variables, as in chat_template_kwargs
  bool add_generation_prompt = true;
  bool as_pieces = false;  ///< JSON: the text in pieces that tell what came from the request
  bool as_ids = false;     ///< the ids of the prompt; needs a model
};

/// Text for standard output. kNotFound, kInvalidArgument (a file that is not what it should be),
/// kUnimplemented, or what the template raised, with its line. Any thread.
Result<std::string> rendered_prompt(const RenderRequest& request);

}  // namespace kantha::cli
