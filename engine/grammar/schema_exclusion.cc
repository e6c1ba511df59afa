#include <algorithm>
#include <utility>

#include "engine/grammar/number_range.h"
#include "engine/grammar/schema_compiler.h"

/// Whether the alternatives of oneOf exclude each other.
namespace kantha::grammar {
namespace {

/// Members of members that are looked at.
constexpr std::size_t kDepthMax = 4;

bool requires_key(const Shape& shape, const std::string& key) {
  return std::ranges::find(shape.required, key) != shape.required.end();
}

bool ranges_meet(const Shape& a, const Shape& b) {
  // In millionths, rounded outwards: what is apart then is apart.
  const auto low_of = [](const Shape& shape) {
    std::int64_t low = -kMillionthsMax - 1;
    for (const NumberBound& bound : shape.bounds) {
      if (!bound.lower) continue;
      const Scaled scaled = scale(*bound.value, 6, /*up=*/false, kMillionthsMax);
      low = std::max(low, scaled.value);
    }
    return low;
  };
  const auto high_of = [](const Shape& shape) {
    std::int64_t high = kMillionthsMax + 1;
    for (const NumberBound& bound : shape.bounds) {
      if (bound.lower) continue;
      const Scaled scaled = scale(*bound.value, 6, /*up=*/true, kMillionthsMax);
      high = std::min(high, scaled.value);
    }
    return high;
  };
  return low_of(a) <= high_of(b) && low_of(b) <= high_of(a);
}

}  // namespace

Result<std::optional<Schemas>> SchemaCompiler::member_schemas(const Shape& shape,
                                                              const std::string& key) {
  Schemas schemas;
  for (const Schema names : shape.property_names) {
    TRY(const bool valid, validator_.is_valid(OrderedJson(key), names));
    if (!valid) return std::optional<Schemas>();
  }
  for (const ObjectPart& part : shape.objects) {
    bool known = false;
    for (const auto& [name, schema] : part.properties) {
      if (name != key) continue;
      schemas.push_back(schema);
      known = true;
    }
    for (const auto& [pattern, schema] : part.patterns) {
      TRY(const bool matches, validator_.matches(key, pattern, document_.path_of(schema)));
      if (!matches) continue;
      schemas.push_back(schema);
      known = true;
    }
    if (!known && part.additional != nullptr) schemas.push_back(part.additional);
  }
  const auto is_false = [](Schema schema) { return schema->is_boolean() && !schema->get<bool>(); };
  if (std::ranges::any_of(schemas, is_false)) return std::optional<Schemas>();
  return std::optional(together(std::move(schemas)));
}

Result<bool> SchemaCompiler::excludes(const Shape& made, const Shape& other, Schema alternative) {
  if (made.values) {
    for (const OrderedJson& value : *made.values) {
      if ((type_of(value) & other.types) == 0) continue;
      if (alternative == nullptr) return false;
      TRY(const bool valid, validator_.is_valid(value, alternative));
      if (valid) return false;
    }
    return true;
  }
  unsigned shared = made.made_types() & other.types;
  if (other.values) {
    // What is made would have to be one of these.
    unsigned types = 0;
    for (const OrderedJson& value : *other.values) types |= type_of(value);
    shared &= types;
  }
  if (shared == 0) return true;
  if ((shared & (kNullType | kBooleanType | kArrayType)) != 0) return false;
  if ((shared & kNumberType) != 0 && (other.values || ranges_meet(made, other))) return false;
  if ((shared & kStringType) != 0) {
    TRY(const bool apart, excludes_strings(made, other));
    if (!apart) return false;
  }
  if ((shared & kObjectType) == 0) return true;
  return other.values ? Result<bool>(false) : excludes_objects(made, other);
}

Result<bool> SchemaCompiler::excludes_strings(const Shape& made, const Shape& other) {
  const auto free = [](const Shape& shape) {
    return !shape.values && shape.patterns.empty() && shape.formats.empty() &&
           shape.length_min == 0 && !shape.length_max;
  };
  if (free(made) || free(other)) return false;
  // Formats stand for fewer texts than they allow, which must not be taken for a difference.
  if (!other.formats.empty()) return false;
  TRY(const Dfa language, string_language(made));
  if (other.values) {
    return std::ranges::none_of(*other.values, [&](const OrderedJson& value) {
      return value.is_string() &&
             language.accepts(encode(value.get_ref<const std::string&>(), Encoding::kJson));
    });
  }
  TRY(const Dfa others, string_language(other));
  TRY(const Dfa shared, both(language, others, budget_));
  return shared.accepts_nothing();
}

/// A key decides: one that is always there and forbidden on the other side, or needed there and
/// never made, or there with a value that is wrong there.
Result<bool> SchemaCompiler::excludes_objects(const Shape& made, const Shape& other) {
  if (exclusion_depth_ >= kDepthMax) return false;
  ++exclusion_depth_;
  struct Leave {
    std::size_t& depth;
    ~Leave() { --depth; }
  } leave{exclusion_depth_};
  const auto is_named = [&](const std::string& key) {
    return std::ranges::any_of(made.objects, [&](const ObjectPart& part) {
      return std::ranges::find(part.properties, key, &std::pair<std::string, Schema>::first) !=
             part.properties.end();
    });
  };
  const bool closed =
      std::ranges::any_of(made.objects,
                          [](const ObjectPart& part) { return !part.properties.empty(); }) &&
      std::ranges::all_of(made.objects, [](const ObjectPart& part) {
        return part.patterns.empty() && (part.additional == nullptr || *part.additional == false);
      });
  for (const std::string& key : other.required) {
    TRY(const auto mine, member_schemas(made, key));
    if (!mine || (closed && !is_named(key) && !requires_key(made, key))) return true;
  }
  for (const std::string& key : made.required) {
    TRY(const auto mine, member_schemas(made, key));
    TRY(const auto theirs, member_schemas(other, key));
    if (!mine || !theirs) return true;
    TRY(const bool apart, contradict(*mine, *theirs));
    if (apart) return true;
  }
  return false;
}

Result<bool> SchemaCompiler::contradict(const Schemas& a, const Schemas& b) {
  if (a.empty() || b.empty()) return false;
  Schemas all = a;
  all.insert(all.end(), b.begin(), b.end());
  TRY(const std::vector<Shape> together_shapes,
      expand(together(std::move(all)), document_, budget_, *this));
  if (together_shapes.empty()) return true;
  // Values that are named decide for themselves; otherwise what one side makes is held against the
  // other.
  const bool named = std::ranges::all_of(
      together_shapes, [](const Shape& shape) { return shape.values.has_value(); });
  if (named) {
    for (const Shape& shape : together_shapes) {
      for (const OrderedJson& value : *shape.values) {
        bool valid = true;
        for (const Schemas* side : {&a, &b}) {
          for (const Schema schema : *side) {
            TRY(const bool here, validator_.is_valid(value, schema));
            valid = valid && here;
          }
        }
        if (valid) return false;
      }
    }
    return true;
  }
  TRY(const std::vector<Shape> made, expand(a, document_, budget_, *this));
  TRY(const std::vector<Shape> others, expand(b, document_, budget_, *this));
  for (const Shape& one : made) {
    for (const Shape& other : others) {
      TRY(const bool apart, excludes(one, other, nullptr));
      if (!apart) return false;
    }
  }
  return true;
}

}  // namespace kantha::grammar
