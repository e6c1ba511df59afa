#include "engine/text/pre_tokenizers.h"

#include <array>
#include <cstdint>

#include "engine/text/vocabulary.h"
#include "engine/text/word_splitter.h"

namespace kantha::text {
namespace {

enum class Rule : std::uint8_t {
  kGpt2,
  kDigits,   ///< each number by itself, then GPT-2
  kDefault,  ///< llama.cpp's for files that name none
  kFalcon,
  kLlama,   ///< Llama 3: up to three digits
  kQwen2,   ///< as kLlama with single digits
  kQwen35,  ///< as kQwen2 with marks among the letters
  kSeedCoder,
  kUfakzeka,
  kBailing,
  kExaoneMoe,
  kMiniCpm5,
  kLaguna,
  kJais2,
  kTekken,
  kGpt4o,
  kTinyAya,
  kYoutu,
  kKimiK2,
  kDeepseekLlm,
  kDeepseekCoder,
  kDeepseekV3,
  kSpark,
  kAfmoe,
  kBloom,
  kViking,
  kChameleon,
  kSuperBpe,
};

struct Entry {
  std::string_view name;
  Rule rule;
  bool whole_words = false;
  bool adds_bos = false;
};

constexpr auto kEntries = std::to_array<Entry>({
    {"default", Rule::kDefault},
    {"gpt-2", Rule::kGpt2},
    {"phi-2", Rule::kGpt2},
    {"jina-es", Rule::kGpt2},
    {"jina-de", Rule::kGpt2},
    {"jina-v1-en", Rule::kGpt2},
    {"jina-v2-es", Rule::kGpt2},
    {"jina-v2-de", Rule::kGpt2},
    {"jina-v2-code", Rule::kGpt2},
    {"roberta-bpe", Rule::kGpt2},
    {"gigachat", Rule::kGpt2},
    {"a.x-4.0", Rule::kGpt2},
    {"mellum", Rule::kGpt2},
    {"modern-bert", Rule::kGpt2},
    {"exaone4", Rule::kGpt2},
    {"mpt", Rule::kGpt2},
    {"olmo", Rule::kGpt2},
    {"jais", Rule::kGpt2},
    {"trillion", Rule::kGpt2},
    {"granite-docling", Rule::kGpt2},
    {"smollm", Rule::kDigits},
    {"starcoder", Rule::kDigits},
    {"refact", Rule::kDigits},
    {"command-r", Rule::kDigits},
    {"codeshell", Rule::kDigits},
    {"exaone", Rule::kDigits},
    {"minerva-7b", Rule::kDigits},
    {"mellum2", Rule::kDigits},
    {"falcon", Rule::kFalcon},
    {"llama3", Rule::kLlama, true, true},
    {"llama-v3", Rule::kLlama, true, true},
    {"llama-bpe", Rule::kLlama, true, true},
    {"falcon3", Rule::kLlama, true, true},
    {"falcon-h1", Rule::kLlama, true, true},
    {"pixtral", Rule::kLlama, true, true},
    {"midm-2.0", Rule::kLlama, true, true},
    {"lfm2", Rule::kLlama, true, true},
    {"jina-v5-nano", Rule::kLlama, true, true},
    {"dbrx", Rule::kLlama},
    {"smaug-bpe", Rule::kLlama},
    {"chatglm-bpe", Rule::kLlama},
    {"glm4", Rule::kLlama, true},
    {"glm5", Rule::kLlama, true},
    {"qwen2", Rule::kQwen2},
    {"deepseek-r1-qwen", Rule::kQwen2},
    {"kormo", Rule::kQwen2},
    {"f2llmv2", Rule::kQwen2},
    {"megrez", Rule::kQwen2},
    {"stablelm2", Rule::kQwen2},
    {"hunyuan", Rule::kQwen2},
    {"solar-open", Rule::kQwen2},
    {"grok-2", Rule::kQwen2},
    {"qwen35", Rule::kQwen35},
    {"seed-coder", Rule::kSeedCoder},
    {"ufakzeka", Rule::kUfakzeka},
    {"bailingmoe", Rule::kBailing},
    {"bailingmoe2", Rule::kBailing},
    {"llada-moe", Rule::kBailing},
    {"exaone-moe", Rule::kExaoneMoe},
    {"minicpm5", Rule::kMiniCpm5, true},
    {"laguna", Rule::kLaguna},
    {"jais-2", Rule::kJais2},
    {"tekken", Rule::kTekken, true, true},
    {"gpt-4o", Rule::kGpt4o},
    {"llama4", Rule::kGpt4o},
    {"kanana2", Rule::kGpt4o},
    {"talkie", Rule::kGpt4o},
    {"minimax-m2", Rule::kGpt4o},
    {"granite-embed-multi-97m", Rule::kGpt4o, true},
    {"tiny_aya", Rule::kTinyAya},
    {"cohere2moe", Rule::kTinyAya},
    {"youtu", Rule::kYoutu, true},
    {"kimi-k2", Rule::kKimiK2},
    {"deepseek-llm", Rule::kDeepseekLlm},
    {"deepseek-coder", Rule::kDeepseekCoder},
    {"deepseek-v3", Rule::kDeepseekV3},
    {"hunyuan-dense", Rule::kDeepseekV3},
    {"joyai-llm", Rule::kDeepseekV3},
    {"hy_v4", Rule::kDeepseekV3},
    {"spark2_5", Rule::kSpark},
    {"afmoe", Rule::kAfmoe},
    {"poro-chat", Rule::kBloom},
    {"bloom", Rule::kBloom},
    {"gpt3-finnish", Rule::kBloom},
    {"viking", Rule::kViking},
    {"chameleon", Rule::kChameleon, false, true},
    {"superbpe", Rule::kSuperBpe},
});

// Parts that several expressions share.
const std::string kContraction = R"((?i:'s|'t|'re|'ve|'m|'ll|'d))";
const std::string kWord = R"([^\r\n\p{L}\p{N}]?\p{L}+)";
const std::string kSigns = R"( ?[^\s\p{L}\p{N}]+[\r\n]*)";
const std::string kBlanks = R"(\s*[\r\n]+|\s+(?!\S)|\s+)";
const std::string kUpper = R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])";
const std::string kLower = R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])";
const std::string kKana = R"([\x{4E00}-\x{9FA5}\x{3040}-\x{30FF}]+)";
const std::string kAsciiSign = R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~])";
const std::string kSentenceWord =
    R"( ?[^(\s|.,!?\x{2026}\x{3002}\x{FF0C}\x{3001}\x{964}\x{6D4}\x{60C})]+)";

/// Contractions, words, numbers, signs, blanks: the shape of Llama 3's expression.
std::string llama_shape(std::string_view number) {
  return kContraction + "|" + kWord + "|" + std::string(number) + "|" + kSigns + "|" + kBlanks;
}

/// Words cut before a capital: the shape of GPT-4o's expression. `upper` and `lower` are classes.
std::string camel_shape(const std::string& upper, const std::string& lower,
                        const std::string& ending, const std::string& rest) {
  const std::string lead = R"([^\r\n\p{L}\p{N}]?)";
  return lead + upper + "*" + lower + "+" + ending + "|" + lead + upper + "+" + lower + "*" +
         ending + "|" + rest + "|" + kBlanks;
}

std::string gpt4o(std::string_view number) {
  return camel_shape(kUpper, kLower, kContraction + "?",
                     std::string(number) + R"(| ?[^\s\p{L}\p{N}]+[\r\n/]*)");
}

std::string kimi_k2() {
  const auto without_han = [](const std::string& set) {
    return set.substr(0, set.size() - 1) + R"(&&[^\p{Han}]])";
  };
  return R"([\p{Han}]+|)" + camel_shape(without_han(kUpper), without_han(kLower),
                                        kContraction + "?", R"(\p{N}{1,3}|)" + kSigns);
}

/// The last step of DeepSeek V3 and what follows it; `signs` is how a run of signs ends.
std::string deepseek_v3_words(std::string_view signs) {
  return kAsciiSign + R"([A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+)" +
         std::string(signs);
}

/// The letters with case that DeepSeek's first tokenizer lists one by one.
constexpr std::string_view kDeepseekLetters =
    R"(A-Za-z\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA}\x{1BC}-\x{1BF}\x{1C4}-\x{293})"
    R"(\x{295}-\x{2AF}\x{370}-\x{373}\x{376}\x{377}\x{37B}-\x{37D}\x{37F}\x{386}\x{388}-)"
    R"(\x{38A}\x{38C}\x{38E}-\x{3A1}\x{3A3}-\x{3F5}\x{3F7}-\x{481}\x{48A}-\x{52F}\x{531}-)"
    R"(\x{556}\x{10A0}-\x{10C5}\x{13A0}-\x{13F5}\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA}\x{1CBD}-)"
    R"(\x{1CBF}\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77}\x{1D79}-\x{1D9A}\x{1E00}-\x{1F15}\x{1F18}-)"
    R"(\x{1F1D}\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D}\x{1F50}-\x{1F57}\x{1F59}\x{1F5B}\x{1F5D})"
    R"(\x{1F5F}-\x{1F7D}\x{1F80}-\x{1FB4}\x{1FB6}-\x{1FBC}\x{1FBE}\x{1FC2}-\x{1FC4}\x{1FC6}-)"
    R"(\x{1FCC}\x{1FD0}-\x{1FD3}\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC}\x{1FF2}-\x{1FF4}\x{1FF6}-)"
    R"(\x{1FFC}\x{2102}\x{2107}\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D}\x{2124}\x{2126})"
    R"(\x{2128}\x{212A}-\x{212D}\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F}\x{2145}-\x{2149})"
    R"(\x{214E}\x{2183}\x{2184}\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4}\x{2CEB}-\x{2CEE}\x{2CF2})"
    R"(\x{2CF3}\x{A640}-\x{A66D}\x{A680}-\x{A69B}\x{A722}-\x{A76F}\x{A771}-\x{A787}\x{A78B}-)"
    R"(\x{A78E}\x{AB70}-\x{ABBF}\x{FB00}-\x{FB06}\x{FB13}-\x{FB17}\x{FF21}-\x{FF3A}\x{FF41}-)"
    R"(\x{FF5A}\x{10400}-\x{1044F}\x{104B0}-\x{104D3}\x{104D8}-\x{104FB}\x{10C80}-\x{10CB2})"
    R"(\x{10CC0}-\x{10CF2}\x{118A0}-\x{118DF}\x{1E900}-\x{1E943})";
constexpr std::string_view kDeepseekCjk = R"([\x{800}-\x{9FA5}\x{AC00}-\x{D7FF}]+)";

using Splits = std::vector<std::string>;

Splits splits_of_llama_kind(Rule rule) {
  switch (rule) {
    case Rule::kQwen2: return {llama_shape(R"(\p{N})")};
    case Rule::kQwen35:
      return {kContraction + R"(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}|)" +
              R"( ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|)" + kBlanks};
    case Rule::kSeedCoder:
      return {kContraction + "|" + kWord + R"(|\p{N}| ?[^\s\p{L}\p{N}\r\n]+|)" + kBlanks};
    case Rule::kUfakzeka: return {kWord + R"(|\p{N}|)" + kSigns + "|" + kBlanks};
    case Rule::kBailing:
      return {R"('(?i:[sdmt]|ll|ve|re)|)" + kWord + R"(|\p{N}|)" + kSigns +
              R"(|\s*[\r\n]|\s+(?!\S)|\s+)"};
    case Rule::kExaoneMoe:
      return {kContraction + R"(|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}|)" +
              R"( ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)"};
    case Rule::kMiniCpm5: return {R"(\p{N}{1,3})", llama_shape(R"(\p{N}+)")};
    case Rule::kLaguna: return {R"([^\n]+|[\n]+)", llama_shape(R"(\p{N})")};
    case Rule::kJais2: {
      std::string steps;
      for (const char* count : {"512", "256", "128", "64", "32", "16", "8", "4", "1,2"}) {
        steps += std::string(R"(|\s{)") + count + R"(}(?!\S))";
      }
      return {kContraction + "|" + kWord + R"(|\p{N}{1,3}|)" + kSigns + R"(|\s*[\r\n]+)" + steps +
              R"(|\s{1})"};
    }
    default: return {llama_shape(R"(\p{N}{1,3})")};
  }
}

Splits splits_of(Rule rule) {
  const std::string gpt2 = kGpt2Split;
  switch (rule) {
    case Rule::kGpt2: return {gpt2};
    case Rule::kDigits: return {R"(\p{N})", gpt2};
    case Rule::kDefault: return {R"([\p{P}$+<=>^~|]+)", gpt2, R"(\p{N}+)", R"([0-9][0-9][0-9])"};
    case Rule::kFalcon: return {R"([\p{P}$+<=>^~|`]+)", gpt2, R"([0-9][0-9][0-9])"};
    case Rule::kTekken:
      return {camel_shape(kUpper, kLower, "", R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*)")};
    case Rule::kGpt4o: return {gpt4o(R"(\p{N}{1,3})")};
    case Rule::kTinyAya: return {std::string(kThreesBeforeBorder), gpt4o(R"(\p{N}{1,3})")};
    case Rule::kYoutu:
      return {R"([\x{AC00}-\x{D7A3}\x{3131}-\x{318E}]+|[\x{FF01}\x{2026}\x{201C}\x{201D}\x{2018})"
              R"(\x{2019}\x{2014}\x{FF1A}\x{FF1B}\x{FF0C}\x{3001}-\x{303F}\x{FE30}-\x{FE4F}]+|)"
              R"([\x{3105}-\x{312F}]+|)" +
                  kKana,
              gpt4o(R"(\p{N})")};
    case Rule::kKimiK2: return {kimi_k2()};
    case Rule::kDeepseekLlm:
      return {R"([\r\n])",
              R"(\s?[)" + std::string(kDeepseekLetters) + "]+",
              R"(\s?[!-/:-~\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF5E}\x{2018}-\x{201F}\x{3000}-\x{3002}]+)",
              R"(\s+$)",
              std::string(kDeepseekCjk),
              R"(\p{N}+)"};
    case Rule::kDeepseekCoder:
      return {R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)", std::string(kDeepseekCjk), R"(\p{N})"};
    case Rule::kDeepseekV3:
      return {R"(\p{N}{1,3})", kKana, deepseek_v3_words(R"([\r\n]*|)" + kBlanks)};
    case Rule::kSpark:
      return {R"(\p{N}{1,3})", kKana, deepseek_v3_words(R"(|[\r\n]|\s+(?!\S)|\s+)"), R"(\p{N})"};
    case Rule::kAfmoe:
      return {
          std::string(kThreesOfNumbers),
          R"([\x{4E00}-\x{9FFF}\x{3400}-\x{4DBF}\x{F900}-\x{FAFF}\x{3040}-\x{30FF}\x{FF65}-)"
          R"(\x{FF9F}\x{2F00}-\x{2FDF}\x{E40}-\x{EFF}\x{1780}-\x{17FF}\x{1000}-\x{109F}\x{AA60}-)"
          R"(\x{AA7F}\x{A9E0}-\x{A9FF}\x{AC00}-\x{D7AF}\x{1100}-\x{11FF}]+)",
          deepseek_v3_words(R"([\r\n]*|)" + kBlanks)};
    case Rule::kBloom: return {kSentenceWord};
    case Rule::kViking: return {kSentenceWord, R"(\p{N})"};
    case Rule::kChameleon:
      return {R"(<sentinel:[0-9]+>)",    R"((IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z)",
              R"(([\t\n]|    |  ))",     R"(\p{N})",
              R"([\p{P}!-/:-@\[-`{-~])", gpt2};
    case Rule::kSuperBpe: return {R"(\p{N}+)", std::string(kThreesCut)};
    default: return splits_of_llama_kind(rule);
  }
}

}  // namespace

Result<PreTokenizer> pre_tokenizer(std::string_view name) {
  for (const Entry& entry : kEntries) {
    if (entry.name != name) continue;
    return PreTokenizer{.splits = splits_of(entry.rule),
                        .whole_words = entry.whole_words,
                        .adds_bos = entry.adds_bos};
  }
  std::string known;
  for (const Entry& entry : kEntries)
    known += (known.empty() ? "" : ", ") + std::string(entry.name);
  return unimplemented(
      "pre-tokenizer \"" + std::string(name) + "\" is not known; known are " + known,
      "tokenizer.ggml.pre");
}

bool adds_bos_by_default(const Vocabulary& vocabulary) {
  const std::string& model = vocabulary.model;
  if (model != "gpt2") return model == "llama" || model == "bert" || model == "gemma4";
  const Result<PreTokenizer> rules = pre_tokenizer(vocabulary.pre);
  return rules.ok() && rules->adds_bos;
}

std::vector<std::string_view> pre_tokenizer_names() {
  std::vector<std::string_view> names;
  for (const Entry& entry : kEntries) names.push_back(entry.name);
  return names;
}

}  // namespace kantha::text
