#include "operator/serving/model_serving_from_yaml.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "operator/serving/model_serving_from_json.h"
#include "operator/serving/model_serving_to_json.h"

namespace kantha::serving {
namespace {

constexpr const char* kFull = R"(apiVersion: serving.kantha.dev/v1alpha1
kind: ModelServing
metadata: {name: smollm2, namespace: ml, labels: {team: nlp}, annotations: {note: "1"}}
spec:
  model:
    name: Org/SmolLM2-135M:v1.2
    source: {hostPath: /models/smollm2.gguf}
  engine:
    image: registry.local/engine@sha256:00
    config: {maxModelLen: 8192, maxNumSeqs: 32, blockSize: 32, kvCacheDtype: auto, kvCacheMemory: 2Gi, gpuMemoryUtilization: 0.9, prefixCaching: false, ttftTargetMs: 2000, itlTargetMs: 50, toolParser: hermes, reasoningParser: think}
  replicas: 3
  autoscaling: {minReplicas: 2, maxReplicas: 6, targetKvPressure: 0.8}
  resources: {accelerator: {resourceName: nvidia.com/gpu, count: 1}, cpu: "2", memory: 4Gi}
  scheduling:
    nodeSelector: {kubernetes.io/arch: amd64}
    tolerations: [{key: gpu, operator: Exists, effect: NoSchedule}]
    topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]
    priorityClassName: high
  rollout:
    rings: [{name: canary, size: 1}, {name: quarter, size: 25%}, {name: all, size: 100%}]
    windows: [{days: [Mon, Fri], start: "22:00", end: "04:00"}]
    bake: {seconds: 60, minRequests: 20}
    gates: {maxErrorRatio: 0.02, maxTtftP95Ratio: 1.5, maxItlP95Ratio: 1.1, goldenPrompts: {configMap: golden}}
    maxUnavailable: 2
    paused: true
  gateway: {authSecret: keys, limits: {maxQueuedTokens: 100, requestsPerMinute: 10, tokensPerMinute: 1000}}
  drain: {timeoutSeconds: 30}
)";

/// The shortest valid file, with more lines under spec.
std::string minimal(const std::string& spec_lines = "") {
  return "apiVersion: serving.kantha.dev/v1alpha1\nkind: ModelServing\nmetadata: {name: m}\n"
         "spec:\n  model: {source: {hostPath: m.gguf}}\n" +
         spec_lines;
}

ModelServing read_ok(const std::string& text) {
  const ModelServingFile file = model_serving_from_yaml(text, "x.yaml");
  EXPECT_TRUE(file.ok()) << file.problem_text();
  return file.serving.value_or(ModelServing{});
}

TEST(ModelServingFromYaml, EveryFieldIsRead) {
  const ModelServing m = read_ok(kFull);
  EXPECT_EQ(m.metadata.name, "smollm2");
  EXPECT_EQ(m.metadata.name_space, "ml");
  EXPECT_EQ(m.metadata.labels.at("team"), "nlp");
  EXPECT_EQ(m.served_name(), "Org/SmolLM2-135M:v1.2");
  EXPECT_EQ(m.spec.model.source.host_path, "/models/smollm2.gguf");
  EXPECT_EQ(m.spec.engine.config.max_num_seqs, 32);
  EXPECT_EQ(m.spec.engine.config.block_size, 32);
  EXPECT_EQ(m.spec.engine.config.kv_cache_memory, "2Gi");
  EXPECT_FALSE(m.spec.engine.config.prefix_caching);
  EXPECT_EQ(m.spec.engine.config.ttft_target_ms, 2000);
  EXPECT_EQ(m.spec.engine.config.itl_target_ms, 50);
  EXPECT_EQ(m.spec.engine.config.tool_parser, "hermes");
  EXPECT_EQ(m.spec.engine.config.reasoning_parser, "think");
  EXPECT_EQ(m.spec.replicas, 3);
  EXPECT_EQ(m.spec.autoscaling->max_replicas, 6);
  EXPECT_EQ(m.spec.resources.accelerator.count, 1);
  EXPECT_EQ(m.spec.resources.cpu, "2");
  EXPECT_EQ(m.spec.scheduling.node_selector.at("kubernetes.io/arch"), "amd64");
  EXPECT_EQ(m.spec.scheduling.tolerations.at(0).op, "Exists");
  EXPECT_EQ(m.spec.scheduling.topology_spread_constraints.at(0).topology_key, "zone");
  EXPECT_EQ(m.spec.rollout.rings.at(1).size, (IntOrPercent{25, true}));
  EXPECT_EQ(m.spec.rollout.windows.at(0), (WindowSpec{{"Mon", "Fri"}, "22:00", "04:00"}));
  EXPECT_EQ(m.spec.rollout.gates.golden_prompts_config_map, "golden");
  EXPECT_EQ(m.spec.rollout.max_unavailable, (IntOrPercent{2, false}));
  EXPECT_TRUE(m.spec.rollout.paused);
  EXPECT_EQ(m.spec.gateway.limits.requests_per_minute, 10);
  EXPECT_EQ(m.spec.drain.timeout_seconds, 30);
}

TEST(ModelServingFromYaml, TheShortestFileGetsTheDefaults) {
  const ModelServing m = read_ok(minimal());
  EXPECT_EQ(m.served_name(), "m") << "the object's name";
  EXPECT_EQ(m.replicas_or_default(), 1);
  EXPECT_EQ(m.spec.engine.config.block_size, 16);
  EXPECT_TRUE(m.spec.engine.config.prefix_caching);
  EXPECT_EQ(m.spec.rollout.max_unavailable, (IntOrPercent{1, false}));
  EXPECT_EQ(m.spec.drain.timeout_seconds, 300);
}

TEST(ModelServingFromYaml, ThroughJsonAndBackNothingIsLost) {
  for (const std::string& text : {std::string(kFull), minimal()}) {
    const ModelServing m = read_ok(text);
    Problems problems;
    const ModelServing again =
        model_serving_from_json(to_json(m), UnknownFields::kRefuse, problems);
    EXPECT_TRUE(problems.empty()) << problems[0].path << problems[0].message;
    EXPECT_EQ(again, m);
  }
}

TEST(ModelServingFromYaml, AnObjectFromANewerServerIsRead) {
  Json json = to_json(read_ok(kFull));
  json["spec"]["futureField"] = 1;
  json["status"] = {{"replicas", 3}};
  Problems problems;
  model_serving_from_json(json, UnknownFields::kIgnore, problems);
  EXPECT_TRUE(problems.empty());
}

TEST(ModelServingFromYaml, AWrongFileIsToldPathExpectationValueAndPlace) {
  const std::string text = minimal("  replicas: \"two\"\n");
  const ModelServingFile file = model_serving_from_yaml(text, "examples/x.yaml");
  ASSERT_EQ(file.problems.size(), 1u) << file.problem_text();
  EXPECT_EQ(file.problems[0].to_string(),
            "spec.replicas: expected an integer, got \"two\" (examples/x.yaml:6)");
}

/// One wrong line of a spec, the path that its problem has, and words of the message.
struct WrongLine {
  const char* lines;
  const char* path;
  const char* message;
};

void expect_refused(const WrongLine& c) {
  const ModelServingFile file = model_serving_from_yaml(minimal(std::string(c.lines) + "\n"), "x");
  ASSERT_EQ(file.problems.size(), 1u) << c.lines << "\n" << file.problem_text();
  EXPECT_EQ(file.problems[0].problem.path, c.path) << c.lines;
  EXPECT_NE(file.problems[0].problem.message.find(c.message), std::string::npos)
      << c.lines << ": " << file.problems[0].to_string();
  EXPECT_GE(file.problems[0].line, 6) << c.lines;
}

TEST(ModelServingFromYaml, EachWrongFieldIsRefusedByName) {
  const WrongLine cases[] = {
      {"  replicas: two", "spec.replicas", "expected an integer, got \"two\""},
      {"  replicas: -1", "spec.replicas", "[0, 10000], got -1"},
      {"  replicas: 1.5", "spec.replicas", "expected an integer, got 1.5"},
      {"  replicas: 1e3", "spec.replicas", "expected an integer, got 1000.0"},
      {"  replicas: 010", "spec.replicas", "leading zeros"},
      {"  replicas: true", "spec.replicas", "got true"},
      {"  replicas: [1]", "spec.replicas", "got a list"},
      {"  replicas: 10001", "spec.replicas", "got 10001"},
      {"  replicas: 99999999999999999999", "spec.replicas", "64 bits"},
      {"  replica: 2", "spec.replica", "did you mean \"replicas\""},
      {"  Replicas: 2", "spec.Replicas", "did you mean \"replicas\""},
      {"  banana: 2", "spec.banana", "unknown field; known here: model, engine"},
      {"  engine: fast", "spec.engine", "expected an object, got \"fast\""},
      {"  engine: {image: 3}", "spec.engine.image", "expected a string, got 3; put it in quotes"},
      {"  engine: {config: {blockSize: 0}}", "spec.engine.config.blockSize", "[1, 256], got 0"},
      {"  engine: {config: {blockSize: 257}}", "spec.engine.config.blockSize", "got 257"},
      {"  engine: {config: {maxModelLen: -5}}", "spec.engine.config.maxModelLen", "got -5"},
      {"  engine: {config: {maxModelLen: 1}}", "spec.engine.config.maxModelLen",
       "at least 2, got 1"},
      {"  engine: {config: {maxNumSeqs: 0}}", "spec.engine.config.maxNumSeqs", "[1, 4096]"},
      {"  engine: {config: {maxNumSeq: 1}}", "spec.engine.config.maxNumSeq", "\"maxNumSeqs\""},
      {"  engine: {config: {kvCacheDtype: fp8}}", "spec.engine.config.kvCacheDtype", "one of auto"},
      {"  engine: {config: {kvCacheMemory: 2GB}}", "spec.engine.config.kvCacheMemory", "quantity"},
      {"  engine: {config: {kvCacheMemory: 500m}}", "spec.engine.config.kvCacheMemory", "1048576"},
      {"  engine: {config: {kvCacheMemory: true}}", "spec.engine.config.kvCacheMemory", "quantity"},
      {"  engine: {config: {gpuMemoryUtilization: 0}}", "spec.engine.config.gpuMemoryUtilization",
       "number"},
      {"  engine: {config: {gpuMemoryUtilization: 1.2}}", "spec.engine.config.gpuMemoryUtilization",
       "got 1.2"},
      {"  engine: {config: {ttftTargetMs: 99}}", "spec.engine.config.ttftTargetMs", "got 99"},
      {"  engine: {config: {itlTargetMs: -1}}", "spec.engine.config.itlTargetMs", "got -1"},
      {"  engine: {config: {toolParser: Hermes}}", "spec.engine.config.toolParser", "one of auto"},
      {"  engine: {config: {reasoningParser: r1}}", "spec.engine.config.reasoningParser",
       "one of auto"},
      {"  engine: {config: {prefixCaching: yes}}", "spec.engine.config.prefixCaching",
       "expected true or false, got \"yes\""},
      {"  autoscaling: {minReplicas: 3}", "spec.autoscaling.maxReplicas", "is required"},
      {"  autoscaling: {minReplicas: 5, maxReplicas: 2}", "spec.autoscaling.maxReplicas",
       "at least minReplicas (5), got 2"},
      {"  autoscaling: {minReplicas: -1, maxReplicas: 3}", "spec.autoscaling.minReplicas",
       "got -1"},
      {"  autoscaling: {minReplicas: 0, maxReplicas: 3, idleSeconds: 0}",
       "spec.autoscaling.idleSeconds", "[1, 604800], got 0"},
      {"  autoscaling: {maxReplicas: 0}", "spec.autoscaling.maxReplicas", "got 0"},
      {"  autoscaling: {maxReplicas: 2, targetKvPressure: 0}", "spec.autoscaling.targetKvPressure",
       "number"},
      {"  autoscaling: {maxReplicas: 2, targetKvPressure: 80}", "spec.autoscaling.targetKvPressure",
       "expected a number in (0.0, 1.0], got 80.0"},
      {"  autoscaling: {maxReplicas: 2, targetKvPressure: 80%}",
       "spec.autoscaling.targetKvPressure", "got \"80%\""},
      {"  autoscaling: {maxReplicas: 2, behavior: {scaleUp: {selectPolicy: max}}}",
       "spec.autoscaling.behavior.scaleUp.selectPolicy", "Max, Min, Disabled, got \"max\""},
      {"  autoscaling: {maxReplicas: 2, behavior: {scaleDown: {stabilizationWindowSeconds: 3601}}}",
       "spec.autoscaling.behavior.scaleDown.stabilizationWindowSeconds", "got 3601"},
      {"  autoscaling: {maxReplicas: 2, behavior: {scaleDown: {tolerance: 10}}}",
       "spec.autoscaling.behavior.scaleDown.tolerance", "from 0 to 1"},
      {"  autoscaling: {maxReplicas: 2, behavior: {scaleUp: {policies: [{type: Pod, value: 1, "
       "periodSeconds: 15}]}}}",
       "spec.autoscaling.behavior.scaleUp.policies[0].type", "one of Pods, Percent"},
      {"  autoscaling: {maxReplicas: 2, behavior: {scaleUp: {policies: [{type: Pods, value: 0, "
       "periodSeconds: 15}]}}}",
       "spec.autoscaling.behavior.scaleUp.policies[0].value", "got 0"},
      {"  autoscaling: {maxReplicas: 2, behavior: {scaleUp: {policies: [{type: Pods, value: 1, "
       "periodSeconds: 1801}]}}}",
       "spec.autoscaling.behavior.scaleUp.policies[0].periodSeconds", "got 1801"},
      {"  autoscaling: {maxReplicas: 2, behavior: {scaleUp: {policies: [{type: Pods, "
       "periodSeconds: 15}]}}}",
       "spec.autoscaling.behavior.scaleUp.policies[0].value", "is required"},
      {"  autoscaling: {maxReplicas: 2, behavior: {scaleup: {}}}",
       "spec.autoscaling.behavior.scaleup", "scaleUp"},
      {"  replicas: 9\n  autoscaling: {maxReplicas: 6}", "spec.replicas", "[1, 6], got 9"},
      {"  resources: {cpu: fast}", "spec.resources.cpu", "quantity"},
      {"  resources: {memory: -1}", "spec.resources.memory", "quantity"},
      {"  resources: {accelerator: {count: -1}}", "spec.resources.accelerator.count", "got -1"},
      {"  scheduling: {nodeSelector: {a: 1}}", "spec.scheduling.nodeSelector.a", "a string"},
      {"  scheduling: {tolerations: {}}", "spec.scheduling.tolerations", "expected a list"},
      {"  scheduling: {tolerations: [{key: k, operator: Is}]}",
       "spec.scheduling.tolerations[0].operator", "one of Exists, Equal"},
      {"  scheduling: {topologySpreadConstraints: [{}]}",
       "spec.scheduling.topologySpreadConstraints[0].topologyKey", "is required"},
      {"  gateway: {limits: {tokensPerMinute: -1}}", "spec.gateway.limits.tokensPerMinute", "-1"},
      {"  drain: {timeoutSeconds: 86401}", "spec.drain.timeoutSeconds", "got 86401"},
      {"  drain: {timeout: 3}", "spec.drain.timeout", "unknown field"},
  };
  for (const WrongLine& c : cases) expect_refused(c);
}

TEST(ModelServingFromYaml, EachWrongFieldOfARolloutIsRefusedByName) {
  const WrongLine cases[] = {
      {"  rollout: {maxUnavailable: 0}", "spec.rollout.maxUnavailable", "got 0"},
      {"  rollout: {maxUnavailable: 101%}", "spec.rollout.maxUnavailable", "got 101%"},
      {"  rollout: {maxUnavailable: \"2\"}", "spec.rollout.maxUnavailable", "got \"2\""},
      {"  rollout: {maxUnavailable: 1.5}", "spec.rollout.maxUnavailable", "got 1.5"},
      {"  rollout: {paused: 1}", "spec.rollout.paused", "expected true or false, got 1"},
      {"  rollout: {rings: [{name: a, size: 50%}, {name: b, size: 25%}]}",
       "spec.rollout.rings[1].size", "rings grow"},
      {"  rollout: {rings: [{name: a, size: 1}, {name: a, size: 2}]}", "spec.rollout.rings[1].name",
       "taken"},
      {"  rollout: {rings: [{name: a}]}", "spec.rollout.rings[0].size", "is required"},
      {"  rollout: {rings: [{name: a, size: 101%}]}", "spec.rollout.rings[0].size",
       "a percentage in [1%, 100%], got 101%"},
      {"  rollout: {windows: [{start: noon, end: \"13:00\"}]}", "spec.rollout.windows[0].start",
       "expected a time of day in UTC, such as \"22:00\", got \"noon\""},
      {"  rollout: {windows: [{days: [Monday], start: \"12:00\", end: \"13:00\"}]}",
       "spec.rollout.windows[0].days[0]", "expected one of Mon, Tue"},
      {"  rollout: {windows: [{days: [7], start: \"12:00\", end: \"13:00\"}]}",
       "spec.rollout.windows[0].days[0]", "expected a string, got 7"},
      {"  rollout: {windows: [{end: \"13:00\"}]}", "spec.rollout.windows[0].start", "is required"},
      {"  rollout: {rings: [~]}", "spec.rollout.rings[0]", "got null"},
      {"  rollout: {gates: {maxErrorRatio: 2}}", "spec.rollout.gates.maxErrorRatio", "got 2.0"},
  };
  for (const WrongLine& c : cases) expect_refused(c);
}

TEST(ModelServingFromYaml, WhatMaySleepBeginsAwake) {
  const ModelServing serving =
      read_ok(minimal("  autoscaling: {minReplicas: 0, maxReplicas: 3}\n"));
  EXPECT_TRUE(serving.spec.autoscaling->may_sleep());
  EXPECT_EQ(serving.spec.autoscaling->idle_seconds, 600);
  EXPECT_EQ(serving.replicas_or_default(), 1);
}

TEST(ModelServingFromYaml, CountsThatAreLegalAreTaken) {
  for (const char* lines :
       {"  replicas: 0", "  autoscaling: {minReplicas: 2, maxReplicas: 2}",
        "  replicas: 0\n  autoscaling: {maxReplicas: 3}",
        "  autoscaling: {minReplicas: 0, maxReplicas: 3, idleSeconds: 60}", "  replicas: ~",
        "  rollout: {maxUnavailable: 25%}", "  resources: {cpu: 2, memory: 1.5Gi}",
        "  resources: {cpu: 500m}", "  drain: {timeoutSeconds: 0}", "  rollout: {rings: []}",
        "  scheduling: {}"}) {
    read_ok(minimal(std::string(lines) + "\n"));
  }
}

TEST(ModelServingFromYaml, AllProblemsOfAFileAreToldInOrder) {
  const ModelServingFile file = model_serving_from_yaml(
      minimal("  replicas: x\n  drain: {timeoutSeconds: -1}\n  rollout: {paused: no}\n"), "f");
  ASSERT_EQ(file.problems.size(), 3u) << file.problem_text();
  EXPECT_EQ(file.problems[0].problem.path, "spec.replicas");
  EXPECT_EQ(file.problems[1].problem.path, "spec.drain.timeoutSeconds");
  EXPECT_EQ(file.problems[2].problem.path, "spec.rollout.paused");
}

TEST(ModelServingFromYaml, TheEnvelopeIsChecked) {
  const struct {
    const char* name;
    std::string text;
    const char* expected;
  } cases[] = {
      {"nothing", "", "the file is empty"},
      {"only a comment", "# hello\n", "the file is empty"},
      {"a list", "- a\n", "expected an object, got a list"},
      {"a word", "hello\n", "expected an object, got \"hello\""},
      {"two documents", minimal() + "---\n" + minimal(), "expected one document, got 2"},
      {"the wrong kind", "apiVersion: serving.kantha.dev/v1alpha1\nkind: Deployment\n",
       "kind: expected \"ModelServing\", got \"Deployment\""},
      {"the wrong version", "apiVersion: apps/v1\nkind: ModelServing\n",
       "apiVersion: expected \"serving.kantha.dev/v1alpha1\""},
      {"no kind", "apiVersion: serving.kantha.dev/v1alpha1\n", "kind: is required"},
      {"no spec", "metadata: {name: a}\n", "spec: is required"},
      {"no name", "metadata: {}\n", "metadata.name: is required"},
      {"a name in capitals", "metadata: {name: SmolLM}\n", "metadata.name: expected lower-case"},
      {"a name with a dot", "metadata: {name: a.b}\n", "metadata.name: expected lower-case"},
      {"a name that climbs out", "metadata: {name: ../x}\n", "metadata.name: expected lower-case"},
      {"a name ending in a dash", "metadata: {name: a-}\n", "metadata.name: expected lower-case"},
      {"a number as name", "metadata: {name: 12}\n", "metadata.name: expected a string, got 12"},
      {"a name of 64", "metadata: {name: " + std::string(64, 'a') + "}\n", "at most 63"},
      {"binary",
       std::string("\x7f"
                   "ELF\x02\x01\x00\x00",
                   8),
       "not YAML text"},
      {"JSON cut short", "{\"apiVersion\": ", "f.yaml:1"},
  };
  for (const auto& c : cases) {
    const ModelServingFile file = model_serving_from_yaml(c.text, "f.yaml");
    ASSERT_FALSE(file.ok()) << c.name;
    EXPECT_NE(file.problem_text().find(c.expected), std::string::npos) << c.name << ":\n"
                                                                       << file.problem_text();
  }
  read_ok("apiVersion: serving.kantha.dev/v1alpha1\nkind: ModelServing\nmetadata: {name: " +
          std::string(63, 'a') + "}\nspec: {model: {source: {hostPath: x}}}\n");
}

TEST(ModelServingFromYaml, ExactlyOneSourceIsGiven) {
  const auto with_source = [](const std::string& source) {
    return model_serving_from_yaml(
        "apiVersion: serving.kantha.dev/v1alpha1\nkind: ModelServing\n"
        "metadata: {name: m}\nspec:\n  model: {source: " +
            source + "}\n",
        "f");
  };
  const std::string hex(64, 'a');
  EXPECT_TRUE(with_source("{pvc: {claimName: c, path: m.gguf}}").ok());
  EXPECT_TRUE(with_source("{http: {url: 'https://x/y', sha256: " + hex + "}}").ok());
  EXPECT_TRUE(with_source("{image: {reference: r, path: p}}").ok());
  for (const std::string& bad :
       {std::string("{}"), std::string("{hostPath: a, image: {reference: r, path: p}}"),
        std::string("{hostPath: ''}"), std::string("{pvc: {claimName: c}}"),
        std::string("{http: {url: 'ftp://x', sha256: " + hex + "}}"),
        std::string("{http: {url: 'https://x', sha256: abc}}"), std::string("{hostpath: a}"),
        std::string("[]"), std::string("a.gguf")}) {
    EXPECT_FALSE(with_source(bad).ok()) << bad;
  }
}

TEST(ReadModelServingFile, AFileThatCannotBeReadIsAProblem) {
  const auto dir =
      std::filesystem::temp_directory_path() / ("kantha-yaml-" + std::to_string(getpid()));
  std::filesystem::create_directories(dir);
  EXPECT_NE(
      read_model_serving_file((dir / "absent.yaml").string()).problem_text().find("no such file"),
      std::string::npos);
  EXPECT_NE(read_model_serving_file(dir.string()).problem_text().find("folder"), std::string::npos);
  std::ofstream(dir / "big.yaml") << std::string(2 << 20, '#');
  EXPECT_NE(read_model_serving_file((dir / "big.yaml").string()).problem_text().find("1048576"),
            std::string::npos);
  std::ofstream(dir / "good.yaml") << minimal();
  EXPECT_TRUE(read_model_serving_file((dir / "good.yaml").string()).ok());
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace kantha::serving
