#include "bench/load/request_body.h"

#include "base/json.h"

namespace kantha::bench {

PreparedRequest prepare_request(const BenchOptions& options, const std::string& model,
                                const std::string& prompt, int output_tokens) {
  Json body = {{"model", model}, {"max_tokens", output_tokens}, {"temperature", 0}};
  if (options.ignore_eos) body["ignore_eos"] = true;
  PreparedRequest out;
  if (options.api == Api::kChat) {
    out.target = "/v1/chat/completions";
    body["messages"] = Json::array({Json{{"role", "user"}, {"content", prompt}}});
  } else {
    out.target = "/v1/completions";
    body["prompt"] = prompt;
  }
  body["stream"] = options.is_stream;
  if (options.is_stream) body["stream_options"] = Json{{"include_usage", true}};
  out.body = dump_json(body);
  out.is_stream = options.is_stream;
  out.output_tokens_max = output_tokens;
  return out;
}

}  // namespace kantha::bench
