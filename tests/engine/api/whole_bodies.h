#pragma once

/// A rich request of each API, in which every field that it has is a good one.
namespace kantha::api {

inline constexpr char kMessagesBody[] = R"json({
        "model":"m","max_tokens":5,"system":[{"type":"text","text":"s"}],"temperature":0.5,
        "top_p":0.5,"top_k":3,"stream":true,"stop_sequences":["x"],"metadata":{"user_id":"u"},
        "thinking":{"type":"enabled","budget_tokens":9},"service_tier":"auto",
        "tool_choice":{"type":"tool","name":"f","disable_parallel_tool_use":true},
        "tools":[{"name":"f","description":"d","strict":true,"input_schema":{"type":"object",
          "properties":{"x":{"type":"integer"}}}}],
        "kantha":{"tenant":"t","class":"agent","timeout_ms":5},"seed":3,"logit_bias":{"3":1},
        "messages":[{"role":"user","content":[{"type":"text","text":"a"}]},
          {"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},
            {"type":"text","text":"b"},
            {"type":"tool_use","id":"i","name":"f","input":{"x":[1,null]}}]},
          {"role":"user","content":[{"type":"tool_result","tool_use_id":"i","is_error":false,
            "content":[{"type":"text","text":"r"}]},{"type":"text","text":"c"}]}]})json";

inline constexpr char kResponsesBody[] = R"json({
        "model":"m","instructions":"s","max_output_tokens":5,"temperature":0.5,"top_p":0.5,
        "stream":true,"stream_options":{"include_obfuscation":false},"store":true,"user":"u",
        "metadata":{"a":"b"},"include":["message.output_text.logprobs"],"top_logprobs":2,
        "text":{"format":{"type":"text"},"verbosity":"medium"},"truncation":"disabled",
        "background":false,"reasoning":{"effort":"none"},"service_tier":"auto",
        "tool_choice":{"type":"function","name":"f"},"parallel_tool_calls":false,
        "tools":[{"type":"function","name":"f","description":"d","strict":true,"parameters":{
          "type":"object","properties":{"x":{"type":"integer"}}}}],
        "input":[{"role":"user","content":[{"type":"input_text","text":"a"}]},
          {"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"t"}]},
          {"type":"function_call","call_id":"c","name":"f","arguments":"{}"},
          {"type":"function_call_output","call_id":"c","output":"1"},
          {"type":"message","role":"assistant","content":"b"}]})json";

inline constexpr char kOllamaChatBody[] = R"json({
        "model":"m:latest","stream":false,"keep_alive":"5m","think":"high","logprobs":true,
        "top_logprobs":2,"format":"","tools":[{"type":"function","function":{"name":"f",
          "parameters":{"type":"object","properties":{"x":{"type":"integer"}}}}}],"options":{"temperature":0.5,"top_k":3,"top_p":0.5,
          "min_p":0.1,"seed":1,"stop":["x"],"num_predict":5,"repeat_penalty":1.1,"repeat_last_n":-1,
          "mirostat":0,"tfs_z":1,"presence_penalty":0,"frequency_penalty":0,"num_ctx":99},
        "messages":[{"role":"system","content":"s"},{"role":"user","content":"a","images":[]},
          {"role":"assistant","content":"","thinking":"t","tool_calls":[{"function":{"name":"f",
            "arguments":{"x":1}}}]},{"role":"tool","content":"1","tool_name":"f"}]})json";

inline constexpr char kOllamaGenerateBody[] = R"json({
        "model":"m","prompt":"a","suffix":"b","system":"s","raw":false,"template":"","context":[],
        "images":[],"stream":true,"options":{"num_predict":-1}})json";

inline constexpr char kInfillBody[] = R"json({"input_prefix":"a",
        "input_suffix":"b","prompt":"c","input_extra":[{"filename":"f","text":"t"}],"n_predict":5,
        "temperature":0,"stop":["x"],"stream":true})json";

inline constexpr char kEmbeddingsBody[] = R"json({"input":["a","b"],
        "model":"m","encoding_format":"float","pooling":"mean","user":"u",
        "kantha":{"tenant":"t"}})json";

inline constexpr char kChatBody[] = R"json({"model":"m","max_tokens":9,"n":2,"stop":["x"],
        "temperature":0.5,"seed":3,"logit_bias":{"3":1},"logprobs":true,"top_logprobs":2,
        "response_format":{"type":"json_schema","json_schema":{"name":"s","schema":{"type":"object",
          "properties":{"x":{"type":"integer"}}}}},"reasoning_effort":"low","stream":true,
        "stream_options":{"include_usage":true},"chat_template_kwargs":{"a":1},
        "kantha":{"tenant":"t","class":"agent","timeout_ms":5,"reasoning_tokens":3},
        "messages":[{"role":"system","content":"s"},
          {"role":"user","content":[{"type":"text","text":"a"}],"name":"n"},
          {"role":"assistant","content":null,"reasoning_content":"r","tool_calls":[{"id":"c",
            "type":"function","function":{"name":"f","arguments":"{}"}}]},
          {"role":"tool","tool_call_id":"c","content":"1"}],
        "tools":[{"type":"function","function":{"name":"f","description":"d","strict":true,
          "parameters":{"type":"object","properties":{"x":{"type":"integer"}}}}}],
        "tool_choice":"auto","parallel_tool_calls":false})json";

inline constexpr char kCompletionBody[] = R"json({"model":"m","prompt":[[1,2],[3]],"max_tokens":0,
        "echo":true,"logprobs":1,"best_of":2,"n":1,"bad_words":["x"],"allowed_token_ids":[1],
        "guided_regex":"a+","min_p":0.1,"typical_p":0.5,"repetition_penalty":1.1,"min_tokens":0,
        "presence_penalty":1,"frequency_penalty":-1,"stop_token_ids":[4],"ignore_eos":true,
        "priority":-1,"cache_salt":"s","service_tier":"flex","prompt_logprobs":1})json";

}  // namespace kantha::api
