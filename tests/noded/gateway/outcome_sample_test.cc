#include "noded/gateway/outcome_sample.h"

#include <gtest/gtest.h>

#include "noded/gateway/forward_target.h"

namespace kantha::noded {
namespace {

using namespace std::chrono_literals;

ForwardOutcome streamed() {
  ForwardOutcome out;
  out.status = 200;
  out.streamed = true;
  out.ended_by = EndedBy::kServer;
  out.prompt_tokens = 100;
  out.completion_tokens = 11;
  out.held = 2s;
  out.first_byte = 2100ms;
  out.total = 3100ms;
  out.target = kLocalTargetName;
  return out;
}

ServiceSample of(const ForwardOutcome& outcome) {
  ServiceSample sample;
  note_outcome(outcome, sample);
  return sample;
}

TEST(OutcomeSample, AStreamHasTimeToTheFirstTokenAndPerToken) {
  const ServiceSample sample = of(streamed());
  EXPECT_EQ(sample.answered, 1);
  EXPECT_EQ(sample.failed, 0);
  EXPECT_NEAR(sample.first_token[2].quantile(0.5), 0.1, 0.003) << "65 to 128 tokens, waiting out";
  EXPECT_NEAR(sample.per_token[0].quantile(0.5), 0.1, 0.003);
}

TEST(OutcomeSample, AWholeAnswerHasTimePerTokenAlone) {
  ForwardOutcome outcome = streamed();
  outcome.streamed = false;
  const ServiceSample sample = of(outcome);
  EXPECT_EQ(sample.first_token_count(), 0);
  EXPECT_NEAR(sample.per_token[1].quantile(0.5), 0.1, 0.003);
}

TEST(OutcomeSample, WhatTheEngineBrokeFailed) {
  ForwardOutcome broken = streamed();
  broken.ended_by = EndedBy::kDoor;
  EXPECT_EQ(of(broken).failed, 1);
  EXPECT_EQ(of(broken).first_token_count(), 0);
  ForwardOutcome error = streamed();
  error.status = 500;
  EXPECT_EQ(of(error).failed, 1);
  error.status = 503;
  EXPECT_EQ(of(error).failed, 0) << "a refusal";
  error.status = 400;
  EXPECT_EQ(of(error).failed, 0) << "the client's own fault";
  EXPECT_EQ(of(error).answered, 1);
}

TEST(OutcomeSample, OthersAnswersAndClientsThatLeftDoNotCount) {
  ForwardOutcome peer = streamed();
  peer.target = "m-1";
  EXPECT_EQ(of(peer).answered, 0);
  ForwardOutcome left = streamed();
  left.ended_by = EndedBy::kClient;
  EXPECT_EQ(of(left).answered, 0);
  left.first_byte.reset();
  left.total = 40s;
  EXPECT_EQ(of(left).failed, 1) << "it waited for half a minute in vain";
}

}  // namespace
}  // namespace kantha::noded
