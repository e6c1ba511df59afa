#include "bench/load/svg_plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace kantha::bench {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(EscapeHtml, LeavesNothingThatAPageCouldTakeForMarkup) {
  EXPECT_EQ(escape_html("<b>\"a\" & 'c'</b>"),
            "&lt;b&gt;&quot;a&quot; &amp; &#39;c&#39;&lt;/b&gt;");
  EXPECT_EQ(escape_html("a\nb\x1b[0m\x7f"), "a b [0m ");
  EXPECT_EQ(escape_html("größer λ 日本 🙂"), "größer λ 日本 🙂");
}

TEST(EscapeHtml, ReplacesBytesThatAreNoUtf8) {
  const std::string mark = "\xef\xbf\xbd";
  EXPECT_EQ(escape_html("\xff"), mark);
  EXPECT_EQ(escape_html("a\xc3"), "a" + mark);
  EXPECT_EQ(escape_html("\xc0\xbc"), mark + mark);             // an overlong <
  EXPECT_EQ(escape_html("\xed\xa0\x80"), mark + mark + mark);  // half a surrogate pair
  EXPECT_EQ(escape_html("\xf4\x90\x80\x80"), mark + mark + mark + mark);
}

TEST(LinearTicks, AreRoundAndInside) {
  EXPECT_THAT(linear_ticks(0, 100, 5), ElementsAre(0, 20, 40, 60, 80, 100));
  EXPECT_THAT(linear_ticks(0, 1.08, 5), ElementsAre(0, DoubleNear(0.5, 1e-9), DoubleNear(1, 1e-9)));
  EXPECT_THAT(linear_ticks(1, 1, 5), IsEmpty());
  EXPECT_FALSE(std::signbit(linear_ticks(0, 100, 5).front()));
}

TEST(LogTicks, AreOneTwoFiveOrPowersOfTen) {
  EXPECT_THAT(log_ticks(0.9, 21), ElementsAre(1, 2, 5, DoubleNear(10, 1e-9), DoubleNear(20, 1e-9)));
  EXPECT_THAT(log_ticks(0.5, 20000), ElementsAre(1, DoubleNear(10, 1e-9), DoubleNear(100, 1e-9),
                                                 DoubleNear(1000, 1e-9), DoubleNear(1e4, 1e-6)));
  EXPECT_THAT(log_ticks(0, 5), IsEmpty());
}

TEST(LinePlot, DrawsOneLinePerSeriesInsideTheFrame) {
  const std::string svg =
      svg_of(LinePlot{.title = "t",
                      .x_title = "ms",
                      .y_title = "y",
                      .series = {{"a", {{0, 0}, {10, 5}}}, {"<b>", {{0, 1}, {20, 2}}}}});
  EXPECT_THAT(svg, HasSubstr("<polyline class=\"s0\""));
  EXPECT_THAT(svg, HasSubstr("<polyline class=\"s1\""));
  EXPECT_THAT(svg, HasSubstr("&lt;b&gt;"));
  EXPECT_THAT(svg, HasSubstr("points=\"58.0,256.0 342.0,"));  // (0, 0) is the corner, 10 the middle
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

TEST(LinePlot, DrawsDegenerateData) {
  for (const Axis axis : {Axis::kLinear, Axis::kLog}) {
    const std::string svg =
        svg_of(LinePlot{.x_axis = axis, .series = {{"a", {{3, 0}}}, {"b", {}}}});
    EXPECT_THAT(svg, HasSubstr("<polyline"));
    EXPECT_THAT(svg, Not(HasSubstr("nan")));
    EXPECT_THAT(svg, Not(HasSubstr("inf\"")));
  }
  EXPECT_THAT(svg_of(LinePlot{}), Not(HasSubstr("<svg")));
}

TEST(RatioBars, GoFromOneToTheRatioWithAWhisker) {
  const std::string svg = svg_of("t", {{"faster", 2, 1.5, 4}, {"slower & <odd>", 0.5, 0.4, 0.6}});
  EXPECT_THAT(svg, HasSubstr("× 2"));
  EXPECT_THAT(svg, HasSubstr("slower &amp; &lt;odd&gt;"));
  EXPECT_THAT(svg, HasSubstr("class=\"whisker\""));
  EXPECT_THAT(svg_of("t", {}), Not(HasSubstr("<svg")));
}

}  // namespace
}  // namespace kantha::bench
