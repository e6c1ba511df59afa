#include <sys/random.h>

#include <cerrno>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>

#include "base/digest.h"
#include "base/json.h"
#include "cli/verbs.h"

namespace kantha::cli {
namespace {

constexpr std::size_t kSecretBytes = 32;
constexpr std::size_t kKeyBytesMax = 512;

/// 256 bits from the kernel, as text that fits into a header and a shell word.
Result<std::string> new_key() {
  unsigned char bytes[kSecretBytes];
  ssize_t count = 0;
  do {
    count = ::getrandom(bytes, sizeof bytes, 0);
  } while (count < 0 && errno == EINTR);
  if (count != static_cast<ssize_t>(sizeof bytes)) return internal_error("no random numbers");
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string key = "kantha-";
  for (const unsigned char byte : bytes) {
    key += kDigits[byte >> 4U];
    key += kDigits[byte & 15U];
  }
  return key;
}

/// The key goes to standard output, and is nowhere else; its entry goes to standard error, so that
/// KEY=$(kantha key new) holds the key alone.
int make_key(const std::string& tenant) {
  const Result<std::string> key = new_key();
  if (!key.ok()) return fail("key", key.error().message);
  OrderedJson entry;
  entry["sha256"] = sha256_hex(*key);
  entry["tenant"] = tenant;
  std::printf("%s\n", key->c_str());
  std::fflush(stdout);
  std::fprintf(stderr, "%s\n", dump_json(entry).c_str());
  return kExitDone;
}

/// From standard input: an argument would stand in the shell's history and the process list.
int digest_key() {
  std::string key;
  std::getline(std::cin, key);
  while (!key.empty() && (key.back() == '\r' || key.back() == ' ')) key.pop_back();
  if (key.empty() || key.size() > kKeyBytesMax) {
    std::fprintf(stderr,
                 "kantha key digest: expected a key of 1 to %zu bytes on standard input, got %zu\n",
                 kKeyBytesMax, key.size());
    return kExitUsage;
  }
  std::printf("%s\n", sha256_hex(key).c_str());
  return kExitDone;
}

}  // namespace

void add_key(CLI::App& app, Verb& chosen) {
  CLI::App* verb = app.add_subcommand("key", "API keys for spec.gateway.authSecret");
  verb->require_subcommand(1);
  auto tenant = std::make_shared<std::string>("default");
  CLI::App* made = verb->add_subcommand(
      "new", "Make a key: prints it once, and its entry for keys.json to standard error");
  made->add_option("--tenant", *tenant, "Whose key it is")->capture_default_str();
  made->callback([tenant, &chosen] { chosen = [tenant] { return make_key(*tenant); }; });
  CLI::App* digest = verb->add_subcommand("digest", "The digest of a key on standard input");
  digest->callback([&chosen] { chosen = [] { return digest_key(); }; });
}

}  // namespace kantha::cli
