#include "engine/serve/infill_prompt.h"

#include <array>
#include <string>
#include <string_view>
#include <unordered_map>

#include "engine/api/openai_error.h"

namespace kantha::serve {
namespace {

/// One family's spellings.
struct Spelling {
  std::string_view prefix;
  std::string_view suffix;
  std::string_view middle;
};

constexpr std::array kSpellings{
    Spelling{"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"},  // Qwen, Granite, Yi
    Spelling{"<fim_prefix>", "<fim_suffix>", "<fim_middle>"},        // StarCoder, SantaCoder
    Spelling{"<fim-prefix>", "<fim-suffix>", "<fim-middle>"},        //
    Spelling{"<PRE>", "<SUF>", "<MID>"},                             // Code Llama
    Spelling{"▁<PRE>", "▁<SUF>", "▁<MID>"},                          //
    Spelling{"<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"},  // DeepSeek
    Spelling{"[PREFIX]", "[SUFFIX]", "[MIDDLE]"},                    // Codestral
};
constexpr std::array<std::string_view, 2> kFileSeparators{"<|file_sep|>", "<file_sep>"};
constexpr std::array<std::string_view, 3> kRepositories{"<|repo_name|>", "<repo_name>",
                                                        "<reponame>"};

/// Ids of control tokens by spelling; ordinary tokens that look like one are none.
class ControlTokens {
 public:
  explicit ControlTokens(const text::Tokenizer& tokenizer) {
    const text::Vocabulary& vocabulary = tokenizer.vocabulary();
    for (std::size_t i = 0; i < vocabulary.tokens.size(); ++i) {
      const auto id = static_cast<TokenId>(i);
      if (tokenizer.is_control(id)) ids_.emplace(vocabulary.tokens[i], id);
    }
  }

  std::optional<TokenId> find(std::string_view spelling) const {
    const auto found = ids_.find(spelling);
    return found == ids_.end() ? std::nullopt : std::optional(found->second);
  }
  template <std::size_t count>
  std::optional<TokenId> first_of(const std::array<std::string_view, count>& spellings) const {
    for (const std::string_view spelling : spellings) {
      if (const auto id = find(spelling)) return id;
    }
    return std::nullopt;
  }

 private:
  std::unordered_map<std::string_view, TokenId> ids_;
};

class PromptBuilder {
 public:
  explicit PromptBuilder(const text::Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  void add(TokenId id) { ids_.push_back(id); }
  void add(const std::optional<TokenId>& id) {
    if (id) ids_.push_back(*id);
  }
  void add(std::string_view text) {
    const std::vector<TokenId> ids = tokenizer_.encode(text, /*parse_special=*/false);
    ids_.insert(ids_.end(), ids.begin(), ids.end());
  }
  std::vector<TokenId> take() { return std::move(ids_); }

 private:
  const text::Tokenizer& tokenizer_;
  std::vector<TokenId> ids_;
};

/// Files that are shown before the gap's own.
void add_extra(const api::InfillPrompt& gap, const InfillTokens& tokens, PromptBuilder& prompt) {
  if (gap.extra.empty()) return;
  if (tokens.repository) {
    prompt.add(tokens.repository);
    prompt.add("project\n");
  }
  for (const api::InfillPrompt::Extra& extra : gap.extra) {
    if (tokens.file_separator) {
      prompt.add(tokens.file_separator);
      prompt.add(extra.filename + "\n");
    }
    prompt.add(extra.text + "\n");
  }
  prompt.add(tokens.file_separator);
}

}  // namespace

std::optional<InfillTokens> infill_tokens(const text::Tokenizer& tokenizer) {
  const ControlTokens tokens(tokenizer);
  for (const Spelling& spelling : kSpellings) {
    const auto prefix = tokens.find(spelling.prefix);
    const auto suffix = tokens.find(spelling.suffix);
    const auto middle = tokens.find(spelling.middle);
    if (!prefix || !suffix || !middle) continue;
    return InfillTokens{.prefix = *prefix,
                        .suffix = *suffix,
                        .middle = *middle,
                        .file_separator = tokens.first_of(kFileSeparators),
                        .repository = tokens.first_of(kRepositories)};
  }
  return std::nullopt;
}

Result<std::vector<TokenId>> infill_prompt(const ServedModel& model, const api::InfillPrompt& gap) {
  const std::optional<InfillTokens> tokens = infill_tokens(model.tokenizer);
  if (!tokens) {
    Error error = unimplemented("the model \"" + model.name +
                                "\" has no tokens for filling a gap (fill-in-the-middle)");
    error.reason = api::kReasonUnsupported;
    return error;
  }
  const text::Vocabulary& vocabulary = model.tokenizer.vocabulary();
  PromptBuilder prompt(model.tokenizer);
  if (vocabulary.add_bos) prompt.add(vocabulary.bos);
  add_extra(gap, *tokens, prompt);
  prompt.add(tokens->prefix);
  prompt.add(gap.prefix);
  prompt.add(tokens->suffix);
  prompt.add(gap.suffix);
  prompt.add(tokens->middle);
  return prompt.take();
}

}  // namespace kantha::serve
