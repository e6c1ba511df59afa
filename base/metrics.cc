#include "base/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "base/check.h"

namespace kantha {
namespace {

using LabelMap = std::map<std::string, std::string>;
using SeriesKey = std::pair<std::string, LabelMap>;

class CounterSeries final : public Counter {
 public:
  explicit CounterSeries(prometheus::Counter& series) : series_(series) {}
  void add(double amount) override {
    CHECK(amount >= 0, "a counter only rises");
    series_.Increment(amount);
  }
  double value() const override { return series_.Value(); }

 private:
  prometheus::Counter& series_;
};

class HistogramSeries final : public Histogram {
 public:
  explicit HistogramSeries(prometheus::Histogram& series) : series_(series) {}
  void observe(double value) override { series_.Observe(value); }

 private:
  prometheus::Histogram& series_;
};

struct ReadCounter {
  Counter* series;
  std::function<double()> read;
};

struct ReadHistogram {
  prometheus::Histogram* series;
  std::function<HistogramTotals()> read;
  HistogramTotals shown;

  /// Adds what has come since the last time.
  void show(const HistogramTotals& now) {
    std::vector<double> rises(shown.counts.size(), 0);
    for (std::size_t i = 0; i < rises.size() && i < now.counts.size(); ++i) {
      rises[i] = std::max(now.counts[i] - shown.counts[i], 0.0);
      shown.counts[i] += rises[i];
    }
    const double sum = std::max(now.sum - shown.sum, 0.0);
    shown.sum += sum;
    series->ObserveMultiple(rises, sum);
  }
};

struct GaugeSeries {
  prometheus::Gauge* series;
  std::function<double()> read;
};

}  // namespace

struct MetricRegistry::Body {
  std::mutex mutex;
  prometheus::Registry registry;
  std::map<SeriesKey, std::unique_ptr<CounterSeries>> counters;
  std::map<SeriesKey, std::unique_ptr<HistogramSeries>> histograms;
  std::map<SeriesKey, GaugeSeries> gauges;
  std::map<SeriesKey, ReadCounter> read_counters;
  std::vector<std::unique_ptr<ReadHistogram>> read_histograms;  // never shrinks
};

MetricRegistry::MetricRegistry() : body_(std::make_unique<Body>()) {}
MetricRegistry::~MetricRegistry() = default;

Counter& MetricRegistry::counter(const std::string& name, const std::string& help,
                                 const MetricLabels& labels) {
  CHECK(name.ends_with("_total"), "a counter's name ends in _total");
  const LabelMap label_map(labels.begin(), labels.end());
  const std::lock_guard lock(body_->mutex);
  auto& slot = body_->counters[{name, label_map}];
  if (slot == nullptr) {
    auto& family = prometheus::BuildCounter().Name(name).Help(help).Register(body_->registry);
    slot = std::make_unique<CounterSeries>(family.Add(label_map));
  }
  return *slot;
}

void MetricRegistry::counter(const std::string& name, const std::string& help,
                             const MetricLabels& labels, std::function<double()> read) {
  Counter& series = counter(name, help, labels);
  const std::lock_guard lock(body_->mutex);
  const LabelMap label_map(labels.begin(), labels.end());
  body_->read_counters[{name, label_map}] = {&series, std::move(read)};
}

Histogram& MetricRegistry::histogram(const std::string& name, const std::string& help,
                                     const MetricLabels& labels,
                                     const std::vector<double>& bounds) {
  CHECK(std::ranges::is_sorted(bounds), "bounds rise");
  const LabelMap label_map(labels.begin(), labels.end());
  const std::lock_guard lock(body_->mutex);
  auto& slot = body_->histograms[{name, label_map}];
  if (slot == nullptr) {
    auto& family = prometheus::BuildHistogram().Name(name).Help(help).Register(body_->registry);
    slot = std::make_unique<HistogramSeries>(family.Add(label_map, bounds));
  }
  return *slot;
}

void MetricRegistry::histogram(const std::string& name, const std::string& help,
                               const MetricLabels& labels, const std::vector<double>& bounds,
                               std::function<HistogramTotals()> read) {
  CHECK(std::ranges::is_sorted(bounds), "bounds rise");
  const LabelMap label_map(labels.begin(), labels.end());
  const std::lock_guard lock(body_->mutex);
  auto& family = prometheus::BuildHistogram().Name(name).Help(help).Register(body_->registry);
  auto series = std::make_unique<ReadHistogram>();
  series->series = &family.Add(label_map, bounds);
  series->read = std::move(read);
  series->shown.counts.resize(bounds.size() + 1);
  body_->read_histograms.push_back(std::move(series));
}

void MetricRegistry::gauge(const std::string& name, const std::string& help,
                           const MetricLabels& labels, std::function<double()> read) {
  const LabelMap label_map(labels.begin(), labels.end());
  const std::lock_guard lock(body_->mutex);
  auto& family = prometheus::BuildGauge().Name(name).Help(help).Register(body_->registry);
  body_->gauges[{name, label_map}] = {&family.Add(label_map), std::move(read)};
}

std::string MetricRegistry::scrape() const {
  std::vector<GaugeSeries> gauges;
  std::vector<ReadCounter> counters;
  std::vector<ReadHistogram*> histograms;
  {
    const std::lock_guard lock(body_->mutex);
    for (const auto& [key, gauge] : body_->gauges) gauges.push_back(gauge);
    for (const auto& [key, counter] : body_->read_counters) counters.push_back(counter);
    for (const auto& histogram : body_->read_histograms) histograms.push_back(histogram.get());
  }
  // Outside the lock: a reader may use the registry itself.
  for (const GaugeSeries& gauge : gauges) gauge.series->Set(gauge.read());
  for (const ReadCounter& counter : counters) {
    const double sum = counter.read();
    // Two scrapes at once must not both add the same difference.
    const std::lock_guard lock(body_->mutex);
    const double rise = sum - counter.series->value();
    if (rise > 0) counter.series->add(rise);
  }
  for (ReadHistogram* histogram : histograms) {
    const HistogramTotals now = histogram->read();
    const std::lock_guard lock(body_->mutex);
    histogram->show(now);
  }
  return prometheus::TextSerializer().Serialize(body_->registry.Collect());
}

}  // namespace kantha
