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
  bool has_max_tokens = false;  ///< then it is sent as it is
};

/// One conversation with one server.
class Chat {
 public:
  Chat(net::Endpoint endpoint, const ChatOptions& options)
      : endpoint_(std::move(endpoint)),
        model_(options.model),
        setting_(options.setting),
        has_max_tokens_(options.has_max_tokens),
        client_(context_.get_executor()) {}

  /// Asks the server for its first model when none was named, and for the model's window.
  Status choose_model() {
    if (!model_.empty() && has_max_tokens_) return ok_status();
    TRY(const ListedModel model, run_blocking(context_, find_model(client_, endpoint_, model_)));
    model_ = model.id;
    if (!has_max_tokens_) {
      setting_.max_tokens = fitting_max_tokens(setting_.max_tokens, model.window);
    }
    return ok_status();
  }

  /// One turn: prints the answer as it comes; a failed turn leaves no trace in the history.
  Status say(const std::string& text) {
    Json messages = history_;
    messages.push_back({{"role", "user"}, {"content", text}});
    bool has_printed = false;
    const OnText print = [&has_printed](std::string_view piece) {
      has_printed = true;
      std::fwrite(piece.data(), 1, piece.size(), stdout);
      std::fflush(stdout);
    };
    Result<std::string> answer =
        run_blocking(context_, stream_chat(client_, endpoint_, model_, messages, setting_, print));
    if (answer.ok() || has_printed) std::printf("\n");
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
  bool has_max_tokens_;
  net::HttpClient client_;
  Json history_ = Json::array();
};

/// --url, else the one world that runs here, else the default port.
Result<std::string> base_url(const ChatOptions& options) {
  if (!options.url.empty()) return options.url;
  const Result<std::vector<RunningWorld>> worlds = list_worlds();
  if (!worlds.ok() || worlds->empty()) return std::string(kDefaultUrl);
  if (worlds->size() == 1) return worlds->front().view.endpoint;
  std::string list;
  for (const RunningWorld& world : *worlds) {
    list += (list.empty() ? "" : ", ") + world.view.name + " at " + world.view.endpoint;
  }
  return invalid_argument("several ModelServings run here; choose one with --url: " + list);
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
  const Result<std::string> chosen_url = base_url(options);
  if (!chosen_url.ok()) {
    fail("chat", chosen_url.error().message);
    return kExitUsage;
  }
  const std::string& url = *chosen_url;
  const Result<net::Endpoint> endpoint = parse_base_url(url);
  if (!endpoint.ok()) {
    fail("chat", "--url: " + endpoint.error().message);
    return kExitUsage;
  }
  Chat chat(*endpoint, options);
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
  CLI::Option* max_tokens =
      verb->add_option("--max-tokens", options->setting.max_tokens,
                       "Longest answer; the default is less for a model with a small window")
          ->check(CLI::Range(1, 1'000'000))
          ->capture_default_str();
  verb->add_option("--temperature", options->setting.temperature, "0 is always the likeliest word")
      ->check(CLI::Range(0.0, 2.0))
      ->capture_default_str();
  verb->callback([options, max_tokens, &chosen] {
    options->has_max_tokens = max_tokens->count() > 0;
    chosen = [options] { return run_chat(*options); };
  });
}

}  // namespace kantha::cli
