#include "engine/model/vocabulary_from_tokenizer_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "engine/model/byte_cursor.h"
#include "engine/model/model_limits.h"

namespace kantha::model {
namespace {

constexpr const char* kBlank = "\u2581";

/// The member of an object, or null.
const Json& member(const Json& json, const char* name) {
  static const Json kNull;
  if (!json.is_object()) return kNull;
  const auto found = json.find(name);
  return found == json.end() ? kNull : *found;
}

std::string type_of(const Json& part) {
  const Json& type = member(part, "type");
  return type.is_string() ? type.get<std::string>() : "";
}

/// The parts of a Sequence under `list`, or the part alone; none for null.
std::vector<Json> parts_of(const Json& part, const char* list) {
  if (part.is_null()) return {};
  if (type_of(part) != "Sequence") return {part};
  const Json& items = member(part, list);
  return items.is_array() ? std::vector<Json>(items.begin(), items.end()) : std::vector<Json>();
}

Error unknown_part(std::string_view where, std::string_view what) {
  return unimplemented(fmt::format("{}: {} is not supported", where, quote(what)));
}

constexpr std::string_view kLlama3Split =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2Split =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

/// GGUF's name for steps that have one; empty for others.
std::string name_of(const std::vector<std::string>& splits) {
  if (splits == std::vector<std::string>{text::kGpt2Split}) return "gpt-2";
  if (splits == std::vector<std::string>{R"(\p{N})", text::kGpt2Split}) return "smollm";
  if (splits == std::vector<std::string>{std::string(kLlama3Split)}) return "llama-bpe";
  if (splits == std::vector<std::string>{std::string(kQwen2Split)}) return "qwen2";
  return "";
}

/// The expression of a Split step that keeps what it finds as words.
Result<std::string> split_pattern(const Json& part) {
  const Json& pattern = member(member(part, "pattern"), "Regex");
  const bool is_isolated = member(part, "behavior") == "Isolated" && member(part, "invert") != true;
  const bool is_removed = member(part, "behavior") == "Removed" && member(part, "invert") == true;
  if (!pattern.is_string() || (!is_isolated && !is_removed)) {
    return unknown_part("pre_tokenizer", part.dump());
  }
  return pattern.get<std::string>();
}

/// The steps of a byte-level pre-tokenizer as expressions.
Result<std::vector<std::string>> splits_of(const Json& pre_tokenizer) {
  std::vector<std::string> splits;
  for (const Json& part : parts_of(pre_tokenizer, "pretokenizers")) {
    const std::string type = type_of(part);
    if (type == "Digits") {
      splits.emplace_back(member(part, "individual_digits") == true ? R"(\p{N})" : R"(\p{N}+)");
    } else if (type == "Punctuation") {
      splits.emplace_back(R"([\p{P}!-/:-@\[-`{-~])");
    } else if (type == "Split") {
      TRY(auto pattern, split_pattern(part));
      splits.push_back(std::move(pattern));
    } else if (type == "ByteLevel") {
      if (member(part, "add_prefix_space") == true) {
        return unknown_part("pre_tokenizer: ByteLevel", "add_prefix_space: true");
      }
      if (member(part, "use_regex") != false) splits.emplace_back(text::kGpt2Split);
    } else {
      return unknown_part("pre_tokenizer", type);
    }
  }
  if (splits.empty()) return unknown_part("pre_tokenizer", "splitting by nothing");
  return splits;
}

/// Fills one vocabulary, in the order of read().
class TokenizerReader {
 public:
  explicit TokenizerReader(const TokenizerFiles& files) : files_(files) {}

  Result<text::Vocabulary> read() {
    const Json& model = member(files_.tokenizer, "model");
    // Older files leave the type out where it is BPE.
    if (const std::string type = type_of(model); !type.empty() && type != "BPE") {
      return unknown_part("model.type", type);
    }
    const bool has_bytes = member(model, "byte_fallback") == true;
    TRY_OK(has_bytes ? read_characters() : read_byte_level());
    TRY_OK(read_tokens(member(model, "vocab")));
    TRY_OK(read_added(member(files_.tokenizer, "added_tokens")));
    finish_types(has_bytes);
    TRY_OK(read_merges(member(model, "merges")));
    const Json& ignore_merges = member(model, "ignore_merges");
    if (ignore_merges.is_boolean()) vocabulary_.ignore_merges = ignore_merges.get<bool>();
    vocabulary_.unknown = id_of(member(model, "unk_token"));
    read_special_ids();
    read_template();
    TRY_OK(read_ends());
    return std::move(vocabulary_);
  }

 private:
  /// Byte-level BPE: steps of expressions, perhaps NFC before them.
  Status read_byte_level() {
    vocabulary_.model = "gpt2";
    TRY(vocabulary_.splits, splits_of(member(files_.tokenizer, "pre_tokenizer")));
    vocabulary_.pre = name_of(vocabulary_.splits);
    for (const Json& part : parts_of(member(files_.tokenizer, "normalizer"), "normalizers")) {
      if (type_of(part) != "NFC") return unknown_part("normalizer", type_of(part));
      vocabulary_.nfc = true;
    }
    return ok_status();
  }

  /// BPE over characters with byte tokens for the others (Llama 2, Gemma): blanks are U+2581.
  Status read_characters() {
    vocabulary_.model = "gemma4";
    vocabulary_.space_prefix = text::SpacePrefix::kNever;
    for (const Json& part : parts_of(member(files_.tokenizer, "normalizer"), "normalizers")) {
      const std::string type = type_of(part);
      if (type == "Prepend" && member(part, "prepend") == kBlank) {
        vocabulary_.space_prefix = text::SpacePrefix::kAlways;
      } else if (type != "Replace" || member(part, "content") != kBlank) {
        return unknown_part("normalizer", part.dump());
      }
    }
    for (const Json& part : parts_of(member(files_.tokenizer, "pre_tokenizer"), "pretokenizers")) {
      // No blanks are left to split at.
      if (type_of(part) == "Split" && member(member(part, "pattern"), "String") == " ") continue;
      if (type_of(part) != "Metaspace") return unknown_part("pre_tokenizer", type_of(part));
      const Json& scheme = member(part, "prepend_scheme");
      vocabulary_.space_prefix = scheme == "never"   ? text::SpacePrefix::kNever
                                 : scheme == "first" ? text::SpacePrefix::kFirst
                                                     : text::SpacePrefix::kAlways;
    }
    return ok_status();
  }

  Status put(const std::string& token, const Json& id, text::TokenType type) {
    // A number beyond int64 comes out negative.
    const std::int64_t number = id.is_number_integer() ? id.get<std::int64_t>() : -1;
    if (number < 0 || number >= files_.size) {
      return data_loss(fmt::format("token {}: expected an id in [0, {}), got {}", quote(token),
                                   files_.size, quote(id.dump())));
    }
    const auto at = static_cast<std::size_t>(number);
    if (taken_[at] && vocabulary_.tokens[at] != token) {
      return data_loss(fmt::format("tokens {} and {}: both have id {}",
                                   quote(vocabulary_.tokens[at]), quote(token), at));
    }
    taken_[at] = true;
    vocabulary_.tokens[at] = token;
    vocabulary_.types[at] = type;
    ids_[token] = static_cast<TokenId>(at);
    return ok_status();
  }

  Status read_tokens(const Json& vocab) {
    if (!vocab.is_object() || vocab.empty()) {
      return data_loss("model.vocab: expected an object from tokens to ids");
    }
    const auto size = static_cast<std::size_t>(files_.size);
    vocabulary_.tokens.resize(size);
    vocabulary_.types.resize(size, text::TokenType::kUnused);
    taken_.resize(size);
    for (const auto& [token, id] : vocab.items()) {
      TRY_OK(put(token, id, text::TokenType::kNormal));
    }
    return ok_status();
  }

  Status read_added(const Json& added) {
    if (added.is_null()) return ok_status();
    if (!added.is_array()) return data_loss("added_tokens: expected an array");
    for (const Json& token : added) {
      const Json& content = member(token, "content");
      if (!content.is_string() || content.get_ref<const std::string&>().empty()) {
        return data_loss("added_tokens: an entry has no content");
      }
      const bool is_special = member(token, "special") == true;
      TRY_OK(put(content.get<std::string>(), member(token, "id"),
                 is_special ? text::TokenType::kControl : text::TokenType::kUserDefined));
    }
    return ok_status();
  }

  /// Names ids that no token has, and finds the byte tokens <0x00> … <0xFF>.
  void finish_types(bool has_bytes) {
    for (std::size_t i = 0; i < taken_.size(); ++i) {
      if (!taken_[i]) vocabulary_.tokens[i] = fmt::format("[PAD{}]", i);
    }
    for (int byte = 0; has_bytes && byte < 256; ++byte) {
      const auto found = ids_.find(fmt::format("<0x{:02X}>", byte));
      if (found == ids_.end()) continue;
      vocabulary_.types[static_cast<std::size_t>(found->second)] = text::TokenType::kByte;
    }
  }

  /// "left right", or ["left", "right"].
  Status read_merges(const Json& merges) {
    if (!merges.is_array()) return data_loss("model.merges: expected an array");
    for (const Json& merge : merges) {
      if (merge.is_string()) {
        vocabulary_.merges.push_back(merge.get<std::string>());
      } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() &&
                 merge[1].is_string()) {
        vocabulary_.merges.push_back(merge[0].get<std::string>() + " " +
                                     merge[1].get<std::string>());
      } else {
        return data_loss(fmt::format("model.merges[{}]: expected two tokens, got {}",
                                     vocabulary_.merges.size(), quote(merge.dump())));
      }
    }
    return ok_status();
  }

  /// Of a token's text, or of an object with it as "content".
  std::optional<TokenId> id_of(const Json& token) const {
    const Json& text = token.is_object() ? member(token, "content") : token;
    if (!text.is_string()) return std::nullopt;
    const auto found = ids_.find(text.get_ref<const std::string&>());
    return found == ids_.end() ? std::nullopt : std::optional(found->second);
  }

  void read_special_ids() {
    vocabulary_.bos = id_of(member(files_.settings, "bos_token"));
    vocabulary_.eos = id_of(member(files_.settings, "eos_token"));
    vocabulary_.padding = id_of(member(files_.settings, "pad_token"));
    const Json& add_bos = member(files_.settings, "add_bos_token");
    const Json& add_eos = member(files_.settings, "add_eos_token");
    vocabulary_.add_bos = add_bos.is_boolean() ? add_bos.get<bool>() : template_adds_bos();
    vocabulary_.add_eos = add_eos == true;
  }

  /// Whether the post-processor's template for one text begins with the BOS token.
  bool template_adds_bos() const {
    for (const Json& part : parts_of(member(files_.tokenizer, "post_processor"), "processors")) {
      const Json& single = member(part, "single");
      if (type_of(part) != "TemplateProcessing" || !single.is_array() || single.empty()) continue;
      const auto first = id_of(member(member(single[0], "SpecialToken"), "id"));
      if (first && first == vocabulary_.bos) return true;
    }
    return false;
  }

  /// A text, or a list of named ones.
  void read_template() {
    vocabulary_.chat_template = files_.chat_template;
    if (!vocabulary_.chat_template.empty()) return;
    const Json& given = member(files_.settings, "chat_template");
    if (given.is_string()) vocabulary_.chat_template = given.get<std::string>();
    if (!given.is_array()) return;
    for (const Json& entry : given) {
      const Json& text = member(entry, "template");
      if (member(entry, "name") == "default" && text.is_string()) {
        vocabulary_.chat_template = text.get<std::string>();
      }
    }
  }

  Status read_ends() {
    for (const std::int32_t id : files_.end_tokens) {
      if (id >= files_.size) {
        return data_loss(
            fmt::format("eos_token_id: expected an id below {}, got {}", files_.size, id));
      }
      const auto token = static_cast<TokenId>(id);
      if (!vocabulary_.eos) vocabulary_.eos = token;
      if (token != vocabulary_.eos &&
          std::ranges::find(vocabulary_.ends, token) == vocabulary_.ends.end()) {
        vocabulary_.ends.push_back(token);
      }
    }
    return ok_status();
  }

  const TokenizerFiles& files_;
  text::Vocabulary vocabulary_;
  std::vector<bool> taken_;
  std::unordered_map<std::string, TokenId> ids_;
};

}  // namespace

Result<text::Vocabulary> vocabulary_from_tokenizer_json(const TokenizerFiles& files) {
  if (!files.tokenizer.is_object()) return data_loss("expected a JSON object");
  if (files.size < 1 || files.size > kVocabularyMax) {
    return data_loss(
        fmt::format("vocabulary: expected 1 to {} tokens, got {}", kVocabularyMax, files.size));
  }
  return TokenizerReader(files).read();
}

}  // namespace kantha::model
