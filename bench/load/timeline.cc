#include "bench/load/timeline.h"

#include <algorithm>

namespace kantha::bench {
namespace {

double to_s(Duration duration) { return std::chrono::duration<double>(duration).count(); }

/// Equal parts of the time of all phases, each with a sum.
class Parts {
 public:
  Parts(const std::vector<Phase>& phases, std::size_t count) : sums_(count) {
    for (const Phase& phase : phases) length_s_ += to_s(phase.length);
  }
  bool is_empty() const { return sums_.empty() || length_s_ <= 0; }

  void add(double at_s, double amount) { sums_[part_of(at_s)] += amount; }

  /// Adds the seconds that [begin, end) has in each part.
  void add_span(double begin_s, double end_s) {
    const double width = length_s_ / static_cast<double>(sums_.size());
    for (std::size_t i = part_of(begin_s); i <= part_of(end_s); ++i) {
      const double from = std::max(begin_s, static_cast<double>(i) * width);
      const double to = std::min(end_s, static_cast<double>(i + 1) * width);
      sums_[i] += std::max(0.0, to - from);
    }
  }

  /// Sums over the parts' length, at the parts' middles.
  Curve rates() const {
    Curve curve;
    const double width = length_s_ / static_cast<double>(sums_.size());
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      curve.emplace_back((static_cast<double>(i) + 0.5) * width, sums_[i] / width);
    }
    return curve;
  }

 private:
  std::size_t part_of(double at_s) const {
    const double share = std::clamp(at_s / length_s_, 0.0, 1.0);
    return std::min(sums_.size() - 1,
                    static_cast<std::size_t>(share * static_cast<double>(sums_.size())));
  }

  std::vector<double> sums_;
  double length_s_ = 0;
};

void add_tokens(const RequestLog& request, double begin_s, Parts& parts) {
  if (!request.ok()) return;
  if (request.content_at.empty()) {
    if (request.usage)
      parts.add(begin_s + to_s(request.ended), double(request.usage->output_tokens));
    return;
  }
  const auto chunks = static_cast<double>(request.content_at.size());
  const double tokens = request.usage ? static_cast<double>(request.usage->output_tokens) : chunks;
  for (const Duration at : request.content_at) parts.add(begin_s + to_s(at), tokens / chunks);
}

}  // namespace

Curve cumulative_share(std::vector<double> values, std::size_t points, double floor) {
  Curve curve;
  std::ranges::sort(values);
  const std::size_t count = values.size();
  const std::size_t steps = std::min(points, count);
  for (std::size_t i = 1; i <= steps; ++i) {
    const std::size_t upto = i * count / steps;
    curve.emplace_back(std::max(floor, values[upto - 1]),
                       static_cast<double>(upto) / static_cast<double>(count));
  }
  if (!curve.empty()) curve.emplace(curve.begin(), std::max(floor, values.front()), 0.0);
  return curve;
}

Curve throughput_over_time(const std::vector<Phase>& phases, std::size_t count) {
  Parts parts(phases, count);
  if (parts.is_empty()) return {};
  double begin_s = 0;
  for (const Phase& phase : phases) {
    for (const RequestLog& request : phase.requests) add_tokens(request, begin_s, parts);
    begin_s += to_s(phase.length);
  }
  return parts.rates();
}

Curve in_flight_over_time(const std::vector<Phase>& phases, std::size_t count) {
  Parts parts(phases, count);
  if (parts.is_empty()) return {};
  double begin_s = 0;
  for (const Phase& phase : phases) {
    for (const RequestLog& request : phase.requests) {
      parts.add_span(begin_s + to_s(request.due), begin_s + to_s(request.ended));
    }
    begin_s += to_s(phase.length);
  }
  return parts.rates();
}

}  // namespace kantha::bench
