#include "operator/metricsapi/label_selector.h"

#include <gtest/gtest.h>

#include <limits>

#include "operator/metricsapi/metric_path.h"
#include "operator/metricsapi/metric_values.h"

namespace kantha::metricsapi {
namespace {

TEST(LabelSelector, SelectsAsTheApiServerDoes) {
  const std::map<std::string, std::string> labels = {{"app", "m"}, {"ring", "canary"}, {"e", ""}};
  const std::pair<const char*, bool> table[] = {
      {"", true},
      {"app=m", true},
      {"app==m,ring=canary", true},
      {" app = m , ring = canary ", true},
      {"app=n", false},
      {"app!=n", true},
      {"absent!=n", true},
      {"app in (n, m),ring", true},
      {"app notin (m)", false},
      {"absent notin (m)", true},
      {"!absent", true},
      {"!app", false},
      {"absent", false},
      {"e=", true},
      {"app=m,absent", false},
  };
  for (const auto& [text, selected] : table) {
    const auto selector = LabelSelector::parse(text);
    ASSERT_TRUE(selector.ok()) << text << ": " << selector.error().message;
    EXPECT_EQ(selector->selects(labels), selected) << text;
  }
}

TEST(LabelSelector, RefusesWhatIsNone) {
  for (const char* text :
       {"=m", "app=m,,b", "app in m", "app on (m)", "app in (m", "a b", "app=m n", "app=%", "!"}) {
    EXPECT_FALSE(LabelSelector::parse(text).ok()) << text;
  }
  std::string many = "a";
  for (int i = 0; i < 64; ++i) many += ",a";
  EXPECT_FALSE(LabelSelector::parse(many).ok());
  EXPECT_FALSE(LabelSelector::parse(std::string(9000, 'a')).ok());
}

TEST(ApiQuery, TakesThePathApart) {
  const auto query = parse_api_query(
      "/apis/custom.metrics.k8s.io/v1beta2/namespaces/a/pods/%2A/kv_pressure"
      "?labelSelector=app%3Dm%2Cring+in+%28x%29&metricLabelSelector=");
  ASSERT_TRUE(query.ok());
  EXPECT_TRUE(query->is_metric());
  EXPECT_EQ(query->version, "v1beta2");
  EXPECT_EQ(query->name_space, "a");
  EXPECT_EQ(query->resource, "pods");
  EXPECT_EQ(query->name, "*");
  EXPECT_EQ(query->metric, "kv_pressure");
  EXPECT_EQ(query->label_selector, "app=m,ring in (x)");
  for (const char* other : {"/apis/custom.metrics.k8s.io/v1beta2", "/apis", "/livez",
                            "/apis/custom.metrics.k8s.io/v1/namespaces/a/pods/x/m",
                            "/apis/other/v1beta2/namespaces/a/pods/x/m"}) {
    ASSERT_TRUE(parse_api_query(other).ok());
    EXPECT_FALSE(parse_api_query(other)->is_metric()) << other;
  }
  EXPECT_FALSE(parse_api_query("/apis/%zz").ok());
  EXPECT_FALSE(parse_api_query("/apis/%0a").ok());
  EXPECT_FALSE(parse_api_query("/" + std::string(9000, 'a')).ok());
}

TEST(Quantity, IsInMilliUnitsWithoutExponents) {
  const std::pair<double, const char*> table[] = {
      {0, "0"},          {0.85, "850m"}, {1, "1"},  {1.0004, "1"},           {2.5, "2500m"},
      {1e7, "10000000"}, {0.0001, "0"},  {-3, "0"}, {1e300, "9000000000000"}};
  for (const auto& [value, text] : table) EXPECT_EQ(quantity_text(value), text) << value;
  EXPECT_EQ(quantity_text(std::numeric_limits<double>::quiet_NaN()), "0");
}

}  // namespace
}  // namespace kantha::metricsapi
