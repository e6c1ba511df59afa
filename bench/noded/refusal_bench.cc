#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/clock.h"

/// How many refusals a second a door gives: a round of requests without a key on so many
/// connections, then a round of answers, again and again, from one thread. Prints the rate, and the
/// rate for each second of CPU that the door used.
///
///   refusal_bench PORT PID [ROUNDS [CONNECTIONS]]
namespace kantha {
namespace {

constexpr int kRoundsDefault = 2000;
constexpr int kConnectionsDefault = 32;

int connect_to(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at = {};
  at.sin_family = AF_INET;
  at.sin_port = htons(static_cast<std::uint16_t>(port));
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int on = 1;
  if (fd < 0 || ::connect(fd, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0 ||
      ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0) {
    std::perror("connect");
    std::exit(1);
  }
  return fd;
}

/// User and system time of a process so far.
double cpu_seconds(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  std::istringstream fields(text.substr(text.rfind(')') + 2));
  std::string word;
  double ticks = 0;
  for (int i = 3; i <= 15 && fields >> word; ++i) {
    if (i >= 14) ticks += std::strtod(word.c_str(), nullptr);
  }
  return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

/// One answer with its body; false when it is no 401.
bool read_refusal(int fd) {
  std::string text;
  while (true) {
    char bytes[4096];
    const ssize_t count = ::recv(fd, bytes, sizeof bytes, 0);
    if (count <= 0) return false;
    text.append(bytes, static_cast<std::size_t>(count));
    const std::size_t head = text.find("\r\n\r\n");
    const std::size_t length = text.find("Content-Length: ");
    if (head == std::string::npos || length == std::string::npos) continue;
    const std::size_t body = std::strtoul(text.c_str() + length + 16, nullptr, 10);
    if (text.size() >= head + 4 + body) return text.starts_with("HTTP/1.1 401 ");
  }
}

int run(int port, int pid, int rounds, int connections) {
  const std::string request =
      "POST /v1/chat/completions HTTP/1.1\r\nHost: door\r\nAuthorization: Bearer wrong\r\n"
      "Content-Type: application/json\r\nContent-Length: 17\r\n\r\n{\"messages\": []}\n";
  std::vector<int> open;
  for (int i = 0; i < connections; ++i) open.push_back(connect_to(port));
  const double cpu_before = cpu_seconds(pid);
  const TimePoint start = system_clock().now();
  for (int round = 0; round < rounds; ++round) {
    for (const int fd : open) {
      if (::send(fd, request.data(), request.size(), MSG_NOSIGNAL) < 0) return 1;
    }
    for (const int fd : open) {
      if (!read_refusal(fd)) {
        std::fprintf(stderr, "an answer is no refusal\n");
        return 1;
      }
    }
  }
  const double seconds = std::chrono::duration<double>(system_clock().now() - start).count();
  const double cpu = cpu_seconds(pid) - cpu_before;
  const double count = static_cast<double>(rounds) * connections;
  std::printf("%.0f refusals, %.0f a second, %.0f a second of the door's CPU\n", count,
              count / seconds, count / cpu);
  return 0;
}

}  // namespace
}  // namespace kantha

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: refusal_bench PORT PID [ROUNDS [CONNECTIONS]]\n");
    return 2;
  }
  const auto number = [&](int at, int otherwise) {
    return argc > at ? std::atoi(argv[at]) : otherwise;
  };
  return kantha::run(number(1, 0), number(2, 0), number(3, kantha::kRoundsDefault),
                     number(4, kantha::kConnectionsDefault));
}
