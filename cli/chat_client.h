#pragma once

#include <functional>
#include <string>

#include "base/json.h"
#include "base/net/http_client.h"
#include "base/net/task.h"

/// The OpenAI API from the caller's side, as much as a chat needs. One executor.
namespace kantha::cli {

/// Where the API is: "http://127.0.0.1:8000" or with "/v1" behind it.
Result<net::Endpoint> parse_base_url(const std::string& url);

struct ListedModel {
  std::string id;
  int window = 0;  ///< max_model_len, tokens; 0: not told
};

/// The model of that id that GET /v1/models lists; an empty id takes the first. An id that is not
/// listed is given back without a window: the server is to judge it.
net::Task<Result<ListedModel>> find_model(net::HttpClient& client, net::Endpoint endpoint,
                                          std::string id);

/// Called with each piece of the answer's text.
using OnText = std::function<void(std::string_view)>;

/// How an answer is made; sent with every turn, so that a small model cannot ramble for ever.
struct ChatSetting {
  int max_tokens = 1024;
  double temperature = 0.7;
};

/// The default length, made smaller for a small window: at most half of it, so that the prompt has
/// room, too. (A server refuses what does not fit.)
int fitting_max_tokens(int wanted, int window);

/// POST /v1/chat/completions with a stream; gives the whole answer. An error object, before or in
/// the stream, becomes its message; a stream without its end is kDataLoss.
net::Task<Result<std::string>> stream_chat(net::HttpClient& client, net::Endpoint endpoint,
                                           std::string model, Json messages, ChatSetting setting,
                                           OnText on_text);

/// The message of an OpenAI error object, or the text itself.
std::string error_message(const std::string& body);

}  // namespace kantha::cli
