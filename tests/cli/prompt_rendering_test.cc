#include "cli/prompt_rendering.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace kantha::cli {
namespace {

class PromptRendering : public testing::Test {
 protected:
  PromptRendering() {
    std::filesystem::create_directories(root_);
    write("t.jinja",
          "{% for m in messages %}\n<{{ m.role }}>{{ m.content }}\n{% endfor %}\n"
          "{% if tools %}{{ tools | length }} tools{% endif %}{{ mode }}"
          "{% if add_generation_prompt %}<go>{% endif %}");
    write("m.json", R"([{"role": "user", "content": "Grüße <go>"}])");
    request_.template_path = path("t.jinja");
    request_.messages_path = path("m.json");
  }
  ~PromptRendering() override { std::filesystem::remove_all(root_); }

  std::string path(const std::string& name) const { return root_ + "/" + name; }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
  }
  std::string rendered() const {
    const auto text = rendered_prompt(request_);
    return text.ok() ? *text : text.error().to_string();
  }

  std::string root_ =
      std::filesystem::temp_directory_path() / ("kantha-render-" + std::to_string(::getpid()));
  RenderRequest request_;
};

TEST_F(PromptRendering, WritesWhatTheTemplateMakesOfTheMessages) {
  EXPECT_EQ(rendered(), "<user>Grüße <go>\n<go>");
  request_.add_generation_prompt = false;
  EXPECT_EQ(rendered(), "<user>Grüße <go>\n");
}

TEST_F(PromptRendering, TakesToolsAndVariablesAndWholeRequests) {
  write("tools.json", R"([{"type": "function"}, {"type": "function"}])");
  request_.tools_path = path("tools.json");
  request_.variables = R"({"mode": " fast "})";
  EXPECT_EQ(rendered(), "<user>Grüße <go>\n2 tools fast <go>");
  request_.tools_path.clear();
  request_.variables.clear();
  write("m.json",
        R"({"model": "m", "messages": [{"role": "user", "content": "x"}], "tools": [{}]})");
  EXPECT_EQ(rendered(), "<user>x\n1 tools<go>");
}

TEST_F(PromptRendering, TellsWhatCameFromTheRequest) {
  request_.as_pieces = true;
  EXPECT_EQ(rendered(), R"([{"text":"<","from_request":false},{"text":"user","from_request":true},)"
                        R"({"text":">","from_request":false},)"
                        R"({"text":"Grüße <go>","from_request":true},)"
                        R"({"text":"\n<go>","from_request":false}])"
                        "\n");
}

TEST_F(PromptRendering, NamesTheLineOfWhatIsWrong) {
  write("t.jinja", "a\n\n{{ messages | shout }}");
  EXPECT_NE(rendered().find("line 3: filter \"shout\" is not known"), std::string::npos)
      << rendered();
  write("t.jinja", "{{ raise_exception('no system role') }}");
  EXPECT_EQ(rendered(), "invalid_argument: no system role");
  write("t.jinja", "a\n{{ messages.foo.bar }}");
  EXPECT_NE(rendered().find("line 2"), std::string::npos) << rendered();
}

TEST_F(PromptRendering, NamesTheFileThatIsWrong) {
  write("m.json", "[{]");
  EXPECT_NE(rendered().find("m.json"), std::string::npos) << rendered();
  write("m.json", R"({"prompt": "x"})");
  EXPECT_NE(rendered().find("expected an array of messages"), std::string::npos) << rendered();
  request_.messages_path = path("none.json");
  EXPECT_NE(rendered().find("not_found"), std::string::npos) << rendered();
}

TEST_F(PromptRendering, ReadsTheTemplateOfAModelAndGivesIds) {
  const char* model = std::getenv("KANTHA_TEST_MODEL");
  ASSERT_NE(model, nullptr);
  write("m.json", R"([{"role": "user", "content": "What is the capital of France?"}])");
  request_.template_path.clear();
  request_.model_path = model;
  EXPECT_NE(rendered().find("<|im_start|>user\nWhat is the capital of France?<|im_end|>"),
            std::string::npos)
      << rendered();
  request_.as_ids = true;
  EXPECT_EQ(rendered(),
            "1 9690 198 2683 359 253 5356 5646 11173 3365 3511 308 34519 28 7018 411 "
            "407 19712 8182 2 198 1 4093 198 1780 314 260 3575 282 4649 47 2 198 1 520 "
            "9531 198\n");
}

}  // namespace
}  // namespace kantha::cli
