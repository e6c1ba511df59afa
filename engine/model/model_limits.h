#pragma once

#include <cstdint>

/// How large a model's shape may be: far above any that exists, so that products of two of them
/// cannot overflow and a lying file is refused before anything is allocated.
namespace kantha::model {

inline constexpr std::int64_t kLayersMax = 1024;
inline constexpr std::int64_t kWidthMax = 1 << 16;
inline constexpr std::int64_t kHeadsMax = 1024;
inline constexpr std::int64_t kHeadSizeMax = 512;
inline constexpr std::int64_t kFfnWidthMax = 1 << 18;
inline constexpr std::int64_t kVocabularyMax = 1 << 20;
inline constexpr std::int64_t kContextMax = 1 << 24;
inline constexpr double kRopeBaseMax = 1e12;

}  // namespace kantha::model
