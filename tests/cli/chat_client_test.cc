#include "cli/chat_client.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "base/net/http_server.h"
#include "base/net/sse.h"
#include "cli/blocking_task.h"

namespace kantha::cli {
namespace {

/// A server on loopback that plays one answer.
class Server {
 public:
  enum class Ending { kProper, kCut, kRefused };

  Server(std::vector<std::string> payloads, Ending ending)
      : payloads_(std::move(payloads)),
        ending_(ending),
        server_(context_.get_executor(), [this](net::HttpRequest request, net::ResponseWriter& w) {
          return answer(std::move(request), w);
        }) {
    endpoint_ = server_.listen({"127.0.0.1", 0}).value();
  }
  ~Server() {
    server_.close();
    context_.restart();
    context_.poll();
  }

  Result<std::string> chat() {
    net::HttpClient client(context_.get_executor());
    const OnText collect = [this](std::string_view piece) { pieces_.emplace_back(piece); };
    const Json messages = Json::array({Json{{"role", "user"}, {"content", "hi"}}});
    return run_blocking(context_, stream_chat(client, endpoint_, "m", messages,
                                              {.max_tokens = 7, .temperature = 0}, collect));
  }
  Result<ListedModel> model(const std::string& id = "") {
    net::HttpClient client(context_.get_executor());
    return run_blocking(context_, find_model(client, endpoint_, id));
  }
  const std::vector<std::string>& pieces() const { return pieces_; }
  const std::string& seen() const { return seen_; }

 private:
  net::Task<void> answer(net::HttpRequest request, net::ResponseWriter& writer) {
    seen_ = request.body;
    if (ending_ == Ending::kRefused || request.method == "GET") {
      net::HttpResponse response;
      response.status = ending_ == Ending::kRefused ? 400 : 200;
      response.body = payloads_.front();
      (void)co_await writer.send(std::move(response));
      co_return;
    }
    net::Headers headers{{"Content-Type", "text/event-stream"}};
    (void)co_await writer.start(200, std::move(headers));
    for (const std::string& payload : payloads_) {
      (void)co_await writer.write(net::sse_data(payload));
    }
    if (ending_ == Ending::kCut) writer.abort();
    if (ending_ == Ending::kProper) (void)co_await writer.finish();
  }

  boost::asio::io_context context_{1};
  std::vector<std::string> payloads_;
  Ending ending_;
  net::HttpServer server_;
  net::Endpoint endpoint_;
  std::vector<std::string> pieces_;
  std::string seen_;
};

std::string delta(const std::string& text) {
  return R"({"choices":[{"index":0,"delta":{"content":")" + text + R"("}}]})";
}

TEST(StreamChat, GivesTheTextAsItComesAndWhole) {
  Server server({R"({"choices":[{"delta":{"role":"assistant"}}]})", delta("Hel"), delta("lo"),
                 R"({"choices":[],"usage":{}})", "[DONE]"},
                Server::Ending::kProper);
  const auto answer = server.chat();
  ASSERT_TRUE(answer.ok()) << answer.error().to_string();
  EXPECT_EQ(*answer, "Hello");
  EXPECT_EQ(server.pieces(), (std::vector<std::string>{"Hel", "lo"}));
  const Json sent = Json::parse(server.seen());
  EXPECT_EQ(sent["model"], "m");
  EXPECT_EQ(sent["stream"], true);
  EXPECT_EQ(sent["max_tokens"], 7);
  EXPECT_EQ(sent["temperature"], 0);
  EXPECT_EQ(sent["messages"][0]["content"], "hi");
}

TEST(StreamChat, FailuresAreErrorsAndNeverHalfAnAnswer) {
  const struct {
    const char* name;
    std::vector<std::string> payloads;
    Server::Ending ending;
    Code code;
    const char* message;
  } cases[] = {
      {"a refusal",
       {R"({"error":{"message":"too long"}})"},
       Server::Ending::kRefused,
       Code::kUnavailable,
       "HTTP 400: too long"},
      {"a refusal in plain text",
       {"go away"},
       Server::Ending::kRefused,
       Code::kUnavailable,
       "go away"},
      {"an error in the stream",
       {delta("a"), R"({"error":{"message":"engine died"}})"},
       Server::Ending::kProper,
       Code::kUnavailable,
       "engine died"},
      {"a stream that is cut", {delta("a")}, Server::Ending::kCut, Code::kDataLoss, ""},
      {"a stream without its mark",
       {delta("a")},
       Server::Ending::kProper,
       Code::kDataLoss,
       "end mark"},
      {"an event that is no JSON", {"{"}, Server::Ending::kProper, Code::kInvalidArgument, ""},
      {"an event that is no object", {"[1]"}, Server::Ending::kProper, Code::kDataLoss, "object"},
  };
  for (const auto& c : cases) {
    Server server(c.payloads, c.ending);
    const auto answer = server.chat();
    ASSERT_FALSE(answer.ok()) << c.name;
    EXPECT_EQ(answer.error().code, c.code) << c.name << ": " << answer.error().to_string();
    EXPECT_NE(answer.error().message.find(c.message), std::string::npos)
        << c.name << ": " << answer.error().message;
  }
}

TEST(FirstModel, IsTheFirstOfTheList) {
  Server server({R"({"data":[{"id":"a"},{"id":"b"}]})"}, Server::Ending::kProper);
  EXPECT_EQ(server.model()->id, "a");
  EXPECT_EQ(server.model("z")->id, "z") << "the server is to judge it";
  Server told({R"({"data":[{"id":"a"},{"id":"b","max_model_len":512}]})"}, Server::Ending::kProper);
  EXPECT_EQ(told.model()->window, 0);
  EXPECT_EQ(told.model("b")->window, 512);
  Server empty({R"({"data":[]})"}, Server::Ending::kProper);
  EXPECT_FALSE(empty.model().ok());
}

TEST(FittingMaxTokens, LeavesRoomForThePromptInASmallWindow) {
  EXPECT_EQ(fitting_max_tokens(512, 0), 512) << "the window is not known";
  EXPECT_EQ(fitting_max_tokens(512, 8192), 512);
  EXPECT_EQ(fitting_max_tokens(512, 512), 256);
  EXPECT_EQ(fitting_max_tokens(512, 1), 1);
}

TEST(ParseBaseUrl, TakesWhatOpenAiClientsTake) {
  for (const char* url :
       {"http://127.0.0.1:8000", "http://127.0.0.1:8000/", "http://127.0.0.1:8000/v1",
        "http://127.0.0.1:8000/v1/", "127.0.0.1:8000"}) {
    const auto endpoint = parse_base_url(url);
    ASSERT_TRUE(endpoint.ok()) << url;
    EXPECT_EQ(endpoint->to_string(), "127.0.0.1:8000") << url;
  }
  EXPECT_FALSE(parse_base_url("nonsense").ok());
}

}  // namespace
}  // namespace kantha::cli
