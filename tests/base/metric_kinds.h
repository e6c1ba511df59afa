#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>

/// A page of docs/ that lists metrics, and a scrape, as comparable values.
namespace kantha::test {

using MetricKinds = std::map<std::string, std::string>;  // name → type

/// Of the scrape's TYPE lines; a name that comes twice is a fault.
inline MetricKinds scraped_kinds(const std::string& text) {
  MetricKinds kinds;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string hash;
    std::string keyword;
    std::string name;
    std::string type;
    words >> hash >> keyword >> name >> type;
    if (hash != "#" || keyword != "TYPE") continue;
    EXPECT_TRUE(kinds.emplace(name, type).second) << name << " has two TYPE lines";
  }
  return kinds;
}

/// Of the tables of the page at `path`.
inline MetricKinds documented_kinds(const std::string& path) {
  std::ifstream page(path);
  EXPECT_TRUE(page) << path;
  const std::regex row(R"(^\| `([a-z0-9_:]+)` \| ([a-z]+) \|.*)");
  MetricKinds kinds;
  for (std::string line; std::getline(page, line);) {
    std::smatch match;
    if (std::regex_match(line, match, row)) kinds.emplace(match[1], match[2]);
  }
  return kinds;
}

}  // namespace kantha::test
