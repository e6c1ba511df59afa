#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

/// Metrics in Prometheus' text format 0.0.4, kept by prometheus-cpp's core library behind this page
/// so that its headers stay in one file.
namespace kantha {

using MetricLabels = std::vector<std::pair<std::string, std::string>>;

/// A number that only rises. Thread-safe, about 20 ns.
class Counter {
 public:
  virtual ~Counter() = default;
  virtual void add(double amount = 1) = 0;  ///< CHECKs amount >= 0
  virtual double value() const = 0;
};

/// Counts of observations per bucket. Thread-safe.
class Histogram {
 public:
  virtual ~Histogram() = default;
  virtual void observe(double value) = 0;
};

/// What a histogram that is kept elsewhere has counted so far.
struct HistogramTotals {
  std::vector<double> counts;  ///< per bucket, not added up; the last one is above all bounds
  double sum = 0;
};

/// Owns every series of one program. References stay valid as long as the registry. Thread-safe.
class MetricRegistry {
 public:
  MetricRegistry();
  ~MetricRegistry();

  /// A counter; its name ends in _total. The same name and labels give the same object.
  Counter& counter(const std::string& name, const std::string& help, const MetricLabels& labels);
  /// A counter whose sum is kept elsewhere and read when scraped. A sum that falls is not shown.
  void counter(const std::string& name, const std::string& help, const MetricLabels& labels,
               std::function<double()> read);
  /// A histogram with the given upper bounds, rising, without +Inf.
  Histogram& histogram(const std::string& name, const std::string& help, const MetricLabels& labels,
                       const std::vector<double>& bounds);
  /// A histogram whose counts are kept elsewhere and read when scraped; `read` gives one count more
  /// than there are bounds. Counts that fall are not shown.
  void histogram(const std::string& name, const std::string& help, const MetricLabels& labels,
                 const std::vector<double>& bounds, std::function<HistogramTotals()> read);
  /// A gauge computed when scraped; the function is called on the scraping thread.
  void gauge(const std::string& name, const std::string& help, const MetricLabels& labels,
             std::function<double()> read);

  /// Every series as text; HELP and TYPE once per name.
  std::string scrape() const;

 private:
  struct Body;
  std::unique_ptr<Body> body_;
};

}  // namespace kantha
