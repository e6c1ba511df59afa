#include "engine/sim/arrival_file.h"

#include <gtest/gtest.h>

#include <sstream>

/// Recorded workloads and how they can be wrong.
namespace kantha::sim {
namespace {

using namespace std::chrono_literals;

Result<Workload> read(const std::string& text) {
  std::istringstream lines(text);
  return read_arrivals(lines);
}

TEST(ArrivalFileTest, ReadsEveryKey) {
  const Workload got = read(R"({"at_ms":0,"prompt_tokens":10,"output_tokens":3}
{"at_ms":1.5,"prompt_tokens":20,"output_tokens":4,"prefix_id":"p","prefix_tokens":8,"tenant":"t",)"
                            R"("class":"batch","priority":-2,"timeout_ms":250}

{"at_ms":1.5,"prompt_tokens":20,"output_tokens":4,"prefix_id":"p","prefix_tokens":20})"
                            "\r\n")
                           .value();
  ASSERT_EQ(got.arrivals.size(), 3u);
  EXPECT_EQ(got.arrivals[0].prefix, kNone);
  EXPECT_EQ(got.arrivals[0].timeout, 0ms);
  const Arrival& second = got.arrivals[1];
  EXPECT_EQ(second.at, 1500us);
  EXPECT_EQ(second.prompt_tokens, 20);
  EXPECT_EQ(second.output_tokens, 4);
  EXPECT_EQ(second.prefix_tokens, 8);
  EXPECT_EQ(second.prefix, got.arrivals[2].prefix);
  EXPECT_EQ(got.tenants[static_cast<std::size_t>(second.tenant)], "t");
  EXPECT_EQ(got.tenants[static_cast<std::size_t>(got.arrivals[2].tenant)], "");
  EXPECT_EQ(second.slo, sched::SloClass::kBatch);
  EXPECT_EQ(second.priority, -2);
  EXPECT_EQ(second.timeout, 250ms);
}

TEST(ArrivalFileTest, FaultsNameLineKeyValueAndLimit) {
  const std::string good = R"({"at_ms":5,"prompt_tokens":10,"output_tokens":3})";
  const std::string head = good + "\n";
  const struct {
    std::string text;
    std::vector<const char*> says;
  } cases[] = {
      {"", {"no arrivals: expected at least one line"}},
      {"\n \n", {"no arrivals"}},
      {head + "nonsense", {"line 2"}},
      {head + "[1]", {"line 2", "an array"}},
      {head + R"({"at_ms":4,"prompt_tokens":1,"output_tokens":1})",
       {"line 2: at_ms: expected at least 5", "got 4"}},
      {R"({"prompt_tokens":1,"output_tokens":1})", {"line 1: at_ms", "got nothing"}},
      {R"({"at_ms":-1,"prompt_tokens":1,"output_tokens":1})", {"line 1: at_ms", "-1"}},
      {R"({"at_ms":0,"output_tokens":1})", {"prompt_tokens: expected an integer in [1, 1048576]"}},
      {R"({"at_ms":0,"prompt_tokens":0,"output_tokens":1})", {"prompt_tokens", "1048576", "0"}},
      {R"({"at_ms":0,"prompt_tokens":1,"output_tokens":"x"})", {"output_tokens", "got \"x\""}},
      {R"({"at_ms":0,"prompt_tokens":1,"output_tokens":1,"prefix_id":"a"})",
       {"prefix_tokens", "got nothing"}},
      {R"({"at_ms":0,"prompt_tokens":1,"output_tokens":1,"prefix_id":"a","prefix_tokens":2})",
       {"prefix_tokens", "1", "2"}},
      {R"({"at_ms":0,"prompt_tokens":1,"output_tokens":1,"class":"vip"})",
       {"class: expected interactive, agent or batch, got \"vip\""}},
      {R"({"at_ms":0,"prompt_tokens":1,"output_tokens":1,"priorty":1})", {"line 1", "priorty"}},
      {head + head + std::string(5000, ' '), {"line 3: expected at most 4096 bytes"}}};
  for (const auto& c : cases) {
    const auto got = read(c.text);
    ASSERT_FALSE(got.ok()) << c.text;
    for (const char* part : c.says) {
      EXPECT_NE(got.error().message.find(part), std::string::npos) << got.error().message;
    }
  }
  EXPECT_EQ(read_arrival_file("/nowhere/x.jsonl").error().code, Code::kNotFound);
}

/// Endless lines without storing them.
class EndlessLines : public std::streambuf {
 public:
  std::int64_t lines = 0;

 private:
  int_type underflow() override {
    ++lines;
    setg(line_.data(), line_.data(), line_.data() + line_.size());
    return traits_type::to_int_type(line_[0]);
  }
  std::string line_ = "{\"at_ms\":0,\"prompt_tokens\":1,\"output_tokens\":1}\n";
};

TEST(ArrivalFileTest, TooManyLinesEndAtTheNamedLimit) {
  EndlessLines source;
  std::istream lines(&source);
  const auto got = read_arrivals(lines);
  ASSERT_FALSE(got.ok());
  EXPECT_NE(got.error().message.find("line 1000001: expected at most 1000000 requests"),
            std::string::npos)
      << got.error().message;
  EXPECT_LE(source.lines, 1'000'002);
}

}  // namespace
}  // namespace kantha::sim
