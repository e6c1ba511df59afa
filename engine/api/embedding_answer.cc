#include "engine/api/embedding_answer.h"

#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "base/base64.h"
#include "base/check.h"

namespace kantha::api {
namespace {

/// Divided by its length, which is 0 for no model that works.
std::vector<float> unit_vector(const std::vector<double>& sums) {
  double squares = 0;
  for (const double value : sums) squares += value * value;
  const double scale = squares > 0 ? 1 / std::sqrt(squares) : 0;
  std::vector<float> vector;
  vector.reserve(sums.size());
  for (const double value : sums) vector.push_back(static_cast<float>(value * scale));
  return vector;
}

std::string little_endian(const std::vector<float>& values) {
  std::string bytes;
  bytes.reserve(values.size() * sizeof(float));
  for (const float value : values) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(bits >> shift);
  }
  return bytes;
}

/// Never streamed.
class EmbeddingAnswer final : public AnswerWriter {
 public:
  explicit EmbeddingAnswer(AnswerPlan plan)
      : model_(std::move(plan.head.model)), base64_(plan.told.value("base64", false)) {}

  std::string opening(std::int32_t, const Usage&) override { return {}; }
  std::string delta(const Delta&) override { return {}; }
  std::string finish(const Ending&) override { return {}; }
  std::string end(const Usage&, const AnswerTimes&) override { return {}; }
  std::string failure(const Error& error) override { return error_body(error); }
  std::string keep_alive() override { return {}; }
  std::string whole(const std::vector<Choice>& choices, const Usage& usage,
                    const AnswerTimes&) override {
    OrderedJson json;
    json["object"] = "list";
    json["data"] = OrderedJson::array();
    for (const Choice& choice : choices) json["data"].push_back(entry(choice));
    json["model"] = model_;
    json["usage"]["prompt_tokens"] = usage.prompt_tokens;
    json["usage"]["total_tokens"] = usage.prompt_tokens;
    return dump_json(json);
  }

 private:
  OrderedJson entry(const Choice& choice) const {
    CHECK(choice.pooled_states != nullptr, "the engine gives them with the end");
    const std::vector<float> vector = unit_vector(*choice.pooled_states);
    OrderedJson json;
    json["object"] = "embedding";
    json["index"] = choice.answer.index;
    if (base64_) {
      json["embedding"] = encode_base64(little_endian(vector));
    } else {
      json["embedding"] = vector;
    }
    return json;
  }

  std::string model_;
  bool base64_;
};

constexpr std::array kNames{FieldName{"prompt", "input"}};

}  // namespace

const AnswerApi kEmbeddingAnswers{
    .make_writer = [](AnswerPlan plan) -> std::unique_ptr<AnswerWriter> {
      return std::make_unique<EmbeddingAnswer>(std::move(plan));
    },
    .make_error = &to_http_error,
    .names = kNames};

}  // namespace kantha::api
