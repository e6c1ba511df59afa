#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>

#include "base/net/task.h"

#include <boost/asio/io_context.hpp>

#include "cli/blocking_task.h"
#include "cli/chat_client.h"
#include "cli/control_client.h"
#include "cli/verbs.h"

namespace kantha::cli {
namespace {

constexpr const char* kDefaultUrl = "http://127.0.0.1:8000";

struct ChatOptions {
  std::string url;
  std::string model;
  std::string prompt;
  ChatSetting setting;
};

/// One conversation with one server.
class Chat {
 public:
  Chat(net::Endpoint endpoint, std::string model, ChatSetting setting)
      : endpoint_(std::move(endpoint)),
        model_(std::move(model)),
        setting_(setting),
        client_(context_.get_executor()) {}

  /// Asks the server for its first model when none was named.
  Status choose_model() {
    if (!model_.empty()) return ok_status();
    TRY(model_, run_blocking(context_, first_model(client_, endpoint_)));
    return ok_status();
  }

  /// One turn: prints the answer as it comes; a failed turn leaves no trace in the history.
  Status say(const std::string& text) {
    Json messages = history_;
    messages.push_back({{"role", "user"}, {"content", text}});
    const OnText print = [](std::string_view piece) {
      std::fwrite(piece.data(), 1, piece.size(), stdout);
      std::fflush(stdout);
    };
    Result<std::string> answer =
        run_blocking(context_, stream_chat(client_, endpoint_, model_, messages, setting_, print));
    std::printf("\n");
    std::fflush(stdout);
    if (!answer.ok()) return std::move(answer).error();
    messages.push_back({{"role", "assistant"}, {"content", *answer}});
    history_ = std::move(messages);
    return ok_status();
  }

  void reset() { history_ = Json::array(); }
  const std::string& model() const { return model_; }

 private:
  boost::asio::io_context context_{1};
  net::Endpoint endpoint_;
  std::string model_;
  ChatSetting setting_;
  net::HttpClient client_;
  Json history_ = Json::array();
};

/// --url, else the one world that runs here, else the default port.
std::string base_url(const ChatOptions& options) {
  if (!options.url.empty()) return options.url;
  const Result<std::vector<RunningWorld>> worlds = list_worlds();
  if (worlds.ok() && !worlds->empty()) return worlds->front().view.endpoint;
  return kDefaultUrl;
}

int talk(Chat& chat, const std::string& url) {
  std::printf("%s at %s; /reset forgets, /quit ends\n", chat.model().c_str(), url.c_str());
  std::string line;
  while (true) {
    std::printf("> ");
    std::fflush(stdout);
    if (!std::getline(std::cin, line) || line == "/quit" || line == "/exit") break;
    if (line.find_first_not_of(" \t") == std::string::npos) continue;
    if (line == "/reset") {
      chat.reset();
      continue;
    }
    if (line.starts_with('/')) {
      std::printf("unknown command; known: /reset, /quit\n");
      continue;
    }
    if (const Status said = chat.say(line); !said.ok()) fail("chat", said.error().message);
  }
  return kExitDone;
}

int run_chat(const ChatOptions& options) {
  const std::string url = base_url(options);
  const Result<net::Endpoint> endpoint = parse_base_url(url);
  if (!endpoint.ok()) {
    fail("chat", "--url: " + endpoint.error().message);
    return kExitUsage;
  }
  Chat chat(*endpoint, options.model, options.setting);
  if (const Status chosen = chat.choose_model(); !chosen.ok()) {
    return fail("chat", "no answer from " + url + ": " + chosen.error().message);
  }
  std::string prompt = options.prompt;
  if (prompt.empty() && isatty(STDIN_FILENO) != 0) return talk(chat, url);
  if (prompt.empty()) prompt.assign(std::istreambuf_iterator<char>(std::cin), {});
  if (prompt.find_first_not_of(" \t\r\n") == std::string::npos) {
    fail("chat", "the prompt is empty");
    return kExitUsage;
  }
  const Status said = chat.say(prompt);
  return said.ok() ? kExitDone : fail("chat", said.error().message);
}

}  // namespace

void add_chat(CLI::App& app, Verb& chosen) {
  auto options = std::make_shared<ChatOptions>();
  CLI::App* verb = app.add_subcommand("chat", "Talk to a model");
  verb->add_option("PROMPT", options->prompt,
                   "One question; without it, a conversation, or the text of standard input");
  verb->add_option("--url", options->url,
                   "Base URL of the API; default: what runs here, else http://127.0.0.1:8000");
  verb->add_option("--model", options->model, "Model; default: the server's first");
  verb->add_option("--max-tokens", options->setting.max_tokens, "Longest answer")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  verb->add_option("--temperature", options->setting.temperature, "0 is always the likeliest word")
      ->check(CLI::Range(0.0, 2.0))
      ->capture_default_str();
  verb->callback([options, &chosen] { chosen = [options] { return run_chat(*options); }; });
}

}  // namespace kantha::cli
