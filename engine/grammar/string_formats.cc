#include "engine/grammar/string_formats.h"

#include <map>
#include <string>

namespace kantha::grammar {
namespace {

using Table = std::map<std::string, std::string, std::less<>>;

Table make_table() {
  const std::string year = "(?:[1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])";
  const std::string leap_year =
      "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)";
  const std::string date = "(?:" + year +
                           "-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])"
                           "|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
                           "|02-(?:0[1-9]|1[0-9]|2[0-8]))|" +
                           leap_year + "-02-29)";
  const std::string clock = "(?:[01][0-9]|2[0-3]):[0-5][0-9]";
  const std::string time = clock + ":[0-5][0-9](?:\\.[0-9]{1,6})?(?:Z|[+-]" + clock + ")";
  const std::string label = "[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?";
  const std::string host = label + "(?:\\." + label + "){0,5}";
  const std::string octet = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
  const std::string group = "[0-9a-f]{1,4}";
  std::string ipv6 = "(?:(?:" + group + ":){7}" + group;
  // One run of zero groups is left out, with 0 … 6 groups before it.
  for (int before = 0; before <= 6; ++before) {
    const int after = 6 - before;
    const std::string head =
        before == 0 ? ":" : "(?:" + group + ":){" + std::to_string(before) + "}";
    ipv6 += "|" + head + ":";
    if (after > 0) {
      ipv6 += "(?:" + group + "(?::" + group + "){0," + std::to_string(after - 1) + "})?";
    }
  }
  ipv6 += ")";
  const std::string path_sign = "(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-F]{2})";
  return {
      {"date", date},
      {"time", time},
      {"date-time", date + "T" + time},
      {"duration",
       "P(?:[0-9]{1,4}Y(?:[0-9]{1,3}M(?:[0-9]{1,3}D)?)?|[0-9]{1,3}M(?:[0-9]{1,3}D)?|[0-9]{1,4}D"
       "|[0-9]{1,4}W|T(?:[0-9]{1,4}H(?:[0-9]{1,4}M(?:[0-9]{1,4}S)?)?|[0-9]{1,4}M(?:[0-9]{1,4}S)?"
       "|[0-9]{1,4}S))"},
      {"uuid", "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"},
      {"ipv4", octet + "(?:\\." + octet + "){3}"},
      {"ipv6", ipv6},
      {"hostname", host},
      {"email", "[A-Za-z0-9_+-]{1,32}(?:\\.[A-Za-z0-9_+-]{1,32})?@" + host + "\\.[a-z]{2,12}"},
      {"uri", "https?://" + host + "(?::[1-9][0-9]{1,3})?(?:/" + path_sign +
                  "*)*(?:\\?(?:" + path_sign + "|[/?])*)?(?:#(?:" + path_sign + "|[/?])*)?"},
      // Known to JSON Schema and not made here.
      {"idn-email", ""},
      {"idn-hostname", ""},
      {"uri-reference", ""},
      {"iri", ""},
      {"iri-reference", ""},
      {"uri-template", ""},
      {"json-pointer", ""},
      {"relative-json-pointer", ""},
      {"regex", ""},
  };
}

}  // namespace

std::optional<std::string_view> format_regex(std::string_view format) {
  static const Table table = make_table();
  const auto found = table.find(format);
  if (found == table.end()) return std::nullopt;
  return found->second;
}

}  // namespace kantha::grammar
