#include <array>
#include <chrono>
#include <ctime>

#include "engine/text/template_eval.h"

namespace kantha::text {
namespace {

/// strftime of the wall clock, in UTC, which servers run in.
Result<Value> format_now(const Clock& clock, const CallArguments& arguments) {
  constexpr std::array<std::string_view, 1> kNames = {"format"};
  TRY(const BoundArguments bound, bind_arguments("strftime_now", kNames, arguments));
  const MarkedText* format = bound.has(0) ? bound[0].as_text() : nullptr;
  if (format == nullptr || format->size() > 200) {
    return invalid_argument("strftime_now: expected a format of at most 200 bytes");
  }
  const std::time_t seconds = std::chrono::system_clock::to_time_t(clock.wall_now());
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 4096> buffer;
  const std::size_t size =
      std::strftime(buffer.data(), buffer.size(), format->bytes().c_str(), &parts);
  return Value::text(std::string_view(buffer.data(), size), format->any_input());
}

}  // namespace

Result<Value> Evaluator::call_global(GlobalFunction function, const CallArguments& arguments) {
  switch (function) {
    case GlobalFunction::kRange: return make_range(arguments);
    case GlobalFunction::kNamespace: return make_namespace(arguments);
    case GlobalFunction::kRaise: return raise(arguments);
    case GlobalFunction::kStrftimeNow: return format_now(clock_, arguments);
    case GlobalFunction::kDict: break;
  }
  Dict dict;
  if (arguments.positional.size() > 1) return invalid_argument("dict: expected one mapping");
  for (const Value& mapping : arguments.positional) {
    if (mapping.as_dict() == nullptr) return unusable(mapping, "made a dict of");
    TRY_OK(spend(mapping.as_dict()->entries.size()));
    dict = *mapping.as_dict();
  }
  for (const auto& [name, value] : arguments.named) dict.set(Value::text(name), value);
  return checked(Value::dict(std::move(dict)));
}

Result<Value> Evaluator::make_range(const CallArguments& arguments) {
  constexpr std::array<std::string_view, 3> kNames = {"start", "stop", "step"};
  TRY(const BoundArguments bound, bind_arguments("range", kNames, arguments));
  if (!bound.has(0)) return invalid_argument("range: expected a number");
  TRY(std::int64_t start, bound.integer(0, 0));
  TRY(std::int64_t stop, bound.integer(1, start));
  TRY(const std::int64_t step, bound.integer(2, 1));
  if (!bound.has(1)) start = 0;
  if (step == 0) return invalid_argument("range: expected a step other than 0");
  std::vector<Value> items;
  for (std::int64_t at = start; step > 0 ? at < stop : at > stop;) {
    TRY_OK(spend(1));
    items.push_back(Value::integer(at));
    if (__builtin_add_overflow(at, step, &at)) break;
  }
  return Value::list(std::move(items));
}

Result<Value> Evaluator::make_namespace(const CallArguments& arguments) {
  auto made = std::make_unique<Namespace>();
  for (const Value& mapping : arguments.positional) {
    if (mapping.as_dict() == nullptr) return unusable(mapping, "made a namespace of");
    TRY_OK(spend(mapping.as_dict()->entries.size()));
    for (const auto& [key, value] : mapping.as_dict()->entries) {
      TRY(const MarkedText name, to_text(key));
      made->values.insert_or_assign(name.bytes(), value);
    }
  }
  for (const auto& [name, value] : arguments.named) made->values.insert_or_assign(name, value);
  namespaces_.push_back(std::move(made));
  return Value(namespaces_.back().get());
}

Result<Value> Evaluator::raise(const CallArguments& arguments) {
  constexpr std::array<std::string_view, 1> kNames = {"message"};
  TRY(const BoundArguments bound, bind_arguments("raise_exception", kNames, arguments));
  if (!bound.has(0)) return invalid_argument("raise_exception: expected a message");
  TRY_OK(spend(bound[0].weight()));
  TRY(const MarkedText words, to_text(bound[0]));
  located_ = true;
  return invalid_argument(words.bytes());
}

}  // namespace kantha::text
