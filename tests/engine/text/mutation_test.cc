#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "tests/engine/text/fuzz_targets.h"

namespace kantha::text {
namespace {

/// Pieces of templates, one a line.
constexpr std::string_view kBits = R"({{
}}
{%
%}
{#
#}
-
+
|
(
)
[
]
{
}
'
"
\
,
:
.
~
**
//
==
 in x
 not x
 is x
 if x
 else x
 and x
{% for x in messages %}
{% endfor %}
{% if x %}
{% endif %}
{% set x = x %}
{% endset %}
{% macro x(x=1) %}
{% endmacro %}
{% break %}
{% raw %}
loop
messages
namespace(x=messages)
x
9223372036854775807
-1
0
1.5e308
|tojson
|list
|sort
|map('upper')
|join
|length
[::-1]
.items()
.split()
none
true
tools
range(99999)
 * 99999
|replace('', x)
é
)";

const std::vector<std::string>& bits() {
  static const std::vector<std::string> parts = [] {
    std::vector<std::string> made = {"\n", " ", "\xFF"};
    std::istringstream lines{std::string(kBits)};
    for (std::string line; std::getline(lines, line);) made.push_back(line);
    return made;
  }();
  return parts;
}

class Mutator {
 public:
  Mutator(std::uint64_t seed, const std::vector<std::string>& corpus)
      : seed_(seed), corpus_(corpus) {}

  std::string next() {
    std::string text = pick(corpus_);
    for (std::size_t edits = 1 + below(4); edits > 0; --edits) edit(text);
    return text;
  }

 private:
  std::size_t below(std::size_t limit) { return random_bits(seed_, counter_++) % limit; }
  const std::string& pick(const std::vector<std::string>& from) { return from[below(from.size())]; }

  void edit(std::string& text) {
    const std::size_t at = below(text.size() + 1);
    const std::size_t length = below(12);
    switch (below(5)) {
      case 0: text.erase(at, length); break;
      case 1: text.insert(at, pick(bits())); break;
      case 2: text.insert(at, text.substr(at, length * 4)); break;
      case 3: text.insert(at, pick(corpus_).substr(0, 40 + below(60))); break;
      default:
        if (at < text.size()) text[at] = static_cast<char>(below(256));
    }
  }

  std::uint64_t seed_;
  std::uint64_t counter_ = 0;
  const std::vector<std::string>& corpus_;
};

TEST(Mutations, OfTemplatesNeverCrashNorHang) {
  const std::vector<std::string> corpus = template_corpus();
  for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
    SCOPED_TRACE(seed);
    fuzz_template(Mutator(seed, corpus).next());
  }
}

TEST(Mutations, OfTextsRoundTripThroughEveryTokenizer) {
  const std::vector<std::string> corpus = text_corpus();
  for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
    SCOPED_TRACE(seed);
    std::string text = Mutator(seed, corpus).next();
    const std::size_t random = random_bits(seed, 1'000'000) % 24;
    for (std::size_t i = 0; i < random; ++i) {
      text.push_back(static_cast<char>(random_bits(seed, 2'000'000 + i)));
    }
    fuzz_tokenizer(text);
  }
}

TEST(Mutations, OfPatternsAreRefusedOrCutTheWholeText) {
  const std::vector<std::string> corpus = pattern_corpus();
  for (std::uint64_t seed = 0; seed < 1'000; ++seed) {
    SCOPED_TRACE(seed);
    fuzz_pattern(Mutator(seed, corpus).next().substr(0, 400));
  }
}

TEST(Mutations, OfCharacterMapsStayInsideThem) {
  const std::vector<std::string> corpus = character_map_corpus();
  for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
    SCOPED_TRACE(seed);
    fuzz_character_map(Mutator(seed, corpus).next());
  }
}

}  // namespace
}  // namespace kantha::text
