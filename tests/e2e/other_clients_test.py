"""The official clients of the other APIs, unpatched, against a real engine: anthropic, ollama, and
openai's responses. Runs itself again with the clients' Python (scripts/client-venv)."""

import json
import math
import unittest

from client_case import ClientCase, strict

import anthropic
import ollama
import openai

HI = [{"role": "user", "content": "Say hi."}]
CAPITAL = [{"role": "user", "content": "What is the capital of France?"}]
PARIS = "The capital of France is Paris."
BOUNDLESS = 100_000  # more tokens than any window here
GREEDY = {"temperature": 0}  # anthropic's client has no argument for it any more
# The model calls nothing by itself, so that calls are begun for it; short arguments end in time.
WHERE = {"type": "object", "properties": {"city": {"enum": ["Oslo", "Bergen"]}},
         "required": ["city"], "additionalProperties": False}
CITIES = ("Oslo", "Bergen")


class Messages(ClientCase):
    @classmethod
    def open_client(cls):
        cls.client = cls.stack.enter_context(
            anthropic.Anthropic(base_url=cls.url, api_key="none", max_retries=0))
        cls.model = json.loads(cls.engine.call("GET", "/v1/models")[2])["data"][0]["id"]

    def ask(self, messages=CAPITAL, **more):
        more = {"extra_body": GREEDY, "max_tokens": 16} | more
        return strict(self.client.messages.create(model=self.model, messages=messages, **more))

    def refused(self, kind, call, *words):
        with self.assertRaises(kind) as caught:
            call()
        body = caught.exception.body
        self.assertEqual(body["type"], "error")
        for word in words:
            self.assertIn(word, body["error"]["message"])
        return body["error"]["type"]

    def test_an_answer_has_every_part(self):
        reply = self.ask()
        self.assertTrue(reply.id.startswith("msg_"))
        self.assertEqual((reply.type, reply.role, reply.model), ("message", "assistant", self.model))
        self.assertEqual([block.text for block in reply.content], [PARIS])
        self.assertEqual((reply.stop_reason, reply.stop_sequence), ("end_turn", None))
        self.assertEqual(reply.usage.output_tokens, 8)

    def test_the_system_comes_first(self):
        words = "You only speak in rhyme."
        plain = self.ask(HI, system=words).content[0].text
        blocks = self.ask(HI, system=[{"type": "text", "text": words,
                                       "cache_control": {"type": "ephemeral"}}])
        self.assertEqual(plain, blocks.content[0].text)

    def test_blocks_and_history_are_taken(self):
        history = [{"role": "user", "content": [{"type": "text", "text": CAPITAL[0]["content"]}]},
                   {"role": "assistant", "content": [{"type": "text", "text": PARIS}]},
                   {"role": "user", "content": "And of Italy?"}]
        self.assertTrue(self.ask(history).content[0].text)

    def test_an_answer_can_be_sent_back(self):
        history = [*CAPITAL, {"role": "assistant", "content": self.ask().content},
                   {"role": "user", "content": "And of Italy?"}]
        self.assertTrue(self.ask(history).content[0].text)

    def test_max_tokens_cuts(self):
        reply = self.ask(max_tokens=2)
        self.assertEqual((reply.stop_reason, reply.usage.output_tokens), ("max_tokens", 2))

    def test_a_bound_beyond_the_window_is_taken(self):
        self.assertEqual(self.ask(max_tokens=BOUNDLESS, timeout=60).content[0].text, PARIS)

    def test_a_stop_sequence_is_named(self):
        reply = self.ask(stop_sequences=["nothing", " Paris"])
        self.assertEqual((reply.stop_reason, reply.stop_sequence), ("stop_sequence", " Paris"))
        self.assertEqual(reply.content[0].text, "The capital of France is")

    def test_cached_tokens_are_told_apart(self):
        messages = [{"role": "user", "content": "word " * 100}]
        first, second = self.ask(messages).usage, self.ask(messages).usage
        self.assertGreater(second.cache_read_input_tokens, 64)
        self.assertEqual(second.input_tokens + second.cache_read_input_tokens,
                         first.input_tokens + first.cache_read_input_tokens)

    def test_a_stream_joins_to_the_whole_answer(self):
        with self.client.messages.stream(model=self.model, messages=CAPITAL, extra_body=GREEDY,
                                         max_tokens=16) as stream:
            text = "".join(stream.text_stream)
            final = strict(stream.get_final_message())
        self.assertEqual(text, PARIS)
        self.assertEqual(final.content[0].text, PARIS)
        self.assertEqual(final.usage.output_tokens, 8)
        self.assertEqual(final.stop_reason, "end_turn")

    def test_raw_events_come_in_order(self):
        events = list(self.client.messages.create(
            model=self.model, messages=CAPITAL, extra_body=GREEDY, max_tokens=3, stream=True))
        names = [event.type for event in events]
        self.assertEqual(names[:2], ["message_start", "content_block_start"])
        self.assertEqual(names[-3:], ["content_block_stop", "message_delta", "message_stop"])
        self.assertEqual(events[-2].delta.stop_reason, "max_tokens")

    def test_a_stream_that_is_closed_frees_the_engine(self):
        stream = self.client.messages.create(model=self.model, messages=HI, max_tokens=900,
                                             stream=True, extra_body={"ignore_eos": True})
        next(iter(stream))
        stream.close()

    def test_count_tokens_is_what_a_message_costs(self):
        counted = self.client.messages.count_tokens(
            model=self.model, messages=CAPITAL, system="Be.")
        usage = self.ask(system="Be.").usage
        self.assertEqual(counted.input_tokens, usage.input_tokens + usage.cache_read_input_tokens)

    def test_the_same_words_as_in_a_chat(self):
        status, _, body = self.engine.call("POST", "/v1/chat/completions",
                                           {"messages": HI, "temperature": 0, "max_tokens": 16})
        self.assertEqual(status, 200)
        chat = json.loads(body)["choices"][0]["message"]["content"]
        self.assertEqual(self.ask(HI).content[0].text, chat)

    def test_errors_are_of_their_kinds(self):
        kind = self.refused(anthropic.BadRequestError, lambda: self.ask(max_tokens=0), "max_tokens")
        self.assertEqual(kind, "invalid_request_error")
        kind = self.refused(anthropic.NotFoundError, lambda: self.client.messages.create(
            model="nobody", messages=HI, max_tokens=4), "nobody")
        self.assertEqual(kind, "not_found_error")
        self.refused(anthropic.BadRequestError, lambda: self.ask(
            [{"role": "user", "content": "word " * 3000}]), "1024")

    TOOLS = [{"name": "get_weather", "description": "Weather.", "input_schema": WHERE}]

    def call(self, **more):
        alone = {"type": "any", "disable_parallel_tool_use": True}
        more = {"tools": self.TOOLS, "tool_choice": alone, "max_tokens": 64} | more
        return self.ask(CAPITAL, **more)

    def test_a_call_and_its_result(self):
        reply = self.call()
        self.assertEqual(reply.stop_reason, "tool_use")
        use = reply.content[0]
        self.assertEqual((use.type, use.name), ("tool_use", "get_weather"))
        self.assertIn(use.input["city"], CITIES)
        history = [*CAPITAL, {"role": "assistant", "content": reply.content},
                   {"role": "user", "content": [{"type": "tool_result", "tool_use_id": use.id,
                                                 "content": "-3 degrees"}]}]
        self.assertTrue(self.ask(history, tools=self.TOOLS).content[0].text)

    def test_a_named_call_alone(self):
        choice = {"type": "tool", "name": "get_weather", "disable_parallel_tool_use": True}
        reply = self.call(tool_choice=choice)
        self.assertEqual([block.name for block in reply.content], ["get_weather"])
        self.assertEqual(reply.stop_reason, "tool_use")

    def test_a_streamed_call_is_the_whole_one(self):
        with self.client.messages.stream(
                model=self.model, messages=CAPITAL, tools=self.TOOLS, max_tokens=64,
                tool_choice={"type": "tool", "name": "get_weather"}, extra_body=GREEDY) as stream:
            parts = [event.partial_json for event in stream if event.type == "input_json"]
            final = strict(stream.get_final_message())
        self.assertIn(json.loads("".join(parts))["city"], CITIES)
        self.assertEqual(final.content[0].input, json.loads("".join(parts)))
        self.assertEqual(final.stop_reason, "tool_use")

    def test_functions_are_counted(self):
        counted = self.client.messages.count_tokens(
            model=self.model, messages=CAPITAL, tools=self.TOOLS)
        usage = self.call().usage
        self.assertEqual(counted.input_tokens, usage.input_tokens + usage.cache_read_input_tokens)

    def test_thinking_is_taken(self):
        """By a model that has none."""
        for thinking in {"type": "enabled", "budget_tokens": 1024}, {"type": "disabled"}:
            self.assertEqual(self.ask(thinking=thinking).content[0].text, PARIS)

    def test_unsupported_wishes_are_named(self):
        self.refused(anthropic.BadRequestError, lambda: self.ask(
            [*HI, {"role": "assistant", "content": "Hi"}]), "messages[1]")
        self.refused(anthropic.BadRequestError, lambda: self.ask(
            tools=[{"type": "web_search_20250305", "name": "web_search"}]), "tools[0].type")


class Ollama(ClientCase):
    @classmethod
    def open_client(cls):
        cls.client = ollama.Client(host=cls.url)
        cls.model = cls.client.list().models[0].model

    def chat(self, messages=CAPITAL, options=None, **more):
        options = {"temperature": 0, "num_predict": 16} | (options or {})
        return self.client.chat(model=self.model, messages=messages, options=options, **more)

    def generate(self, prompt="Once upon a time", options=None, **more):
        options = {"temperature": 0, "num_predict": 8} | (options or {})
        return self.client.generate(model=self.model, prompt=prompt, options=options, **more)

    def test_a_chat_has_its_counters(self):
        reply = self.chat()
        self.assertEqual(reply.message.content, PARIS)
        self.assertEqual((reply.done, reply.done_reason), (True, "stop"))
        self.assertEqual(reply.eval_count, 8)
        self.assertGreater(reply.prompt_eval_count, 8)
        for each in (reply.total_duration, reply.prompt_eval_duration, reply.eval_duration):
            self.assertGreater(each, 100_000, "nanoseconds")
        self.assertGreaterEqual(reply.total_duration,
                                reply.prompt_eval_duration + reply.eval_duration)

    def test_a_stream_joins_to_the_whole(self):
        parts = list(self.chat(stream=True))
        self.assertEqual("".join(part.message.content for part in parts), PARIS)
        self.assertEqual([part.done for part in parts], [False] * (len(parts) - 1) + [True])
        self.assertEqual(parts[-1].eval_count, 8)

    def test_a_model_may_have_its_tag(self):
        reply = self.client.chat(model=self.model + ":latest", messages=CAPITAL,
                                 options={"temperature": 0})
        self.assertEqual(reply.message.content, PARIS)

    def test_num_predict_cuts(self):
        reply = self.chat(options={"num_predict": 2})
        self.assertEqual((reply.done_reason, reply.eval_count), ("length", 2))

    def test_stop_ends_the_text(self):
        self.assertEqual(self.chat(options={"stop": [" Paris"]}).message.content,
                         "The capital of France is")

    def test_the_same_seed_gives_the_same_answer(self):
        first, second = (self.chat(options={"temperature": 1, "seed": 5}) for _ in range(2))
        self.assertEqual(first.message.content, second.message.content)

    def test_generate_is_a_chat_unless_raw(self):
        self.assertEqual(self.generate(CAPITAL[0]["content"]).response, PARIS)
        raw = self.generate(raw=True).response
        status, _, body = self.engine.call("POST", "/v1/completions", {
            "prompt": "Once upon a time", "temperature": 0, "max_tokens": 8})
        self.assertEqual(status, 200)
        self.assertEqual(raw, json.loads(body)["choices"][0]["text"])

    def test_generate_streams(self):
        parts = list(self.generate(stream=True))
        self.assertEqual("".join(part.response for part in parts), self.generate().response)

    def test_a_stream_that_is_left_frees_the_engine(self):
        stream = self.generate(stream=True, options={"num_predict": -1, "temperature": 2})
        next(stream)
        stream.close()

    def test_scores(self):
        reply = self.chat(logprobs=True, top_logprobs=2)
        self.assertEqual(len(reply.logprobs), 7)
        self.assertEqual(len(reply.logprobs[0].top_logprobs), 2)

    def test_the_model_is_shown(self):
        shown = self.client.show(self.model)
        self.assertIn("completion", shown.capabilities)
        self.assertIn("im_start", shown.template)
        self.assertEqual(shown.modelinfo["kantha.context_length"], 1024)

    TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": WHERE}}]

    def test_functions_are_taken(self):
        """Their API forces no call, and the model calls nothing by itself."""
        plain = self.chat().prompt_eval_count
        reply = self.chat(tools=self.TOOLS)
        self.assertGreater(reply.prompt_eval_count, plain)
        self.assertTrue(reply.message.content or reply.message.tool_calls)

    def test_calls_and_results_are_taken_back(self):
        history = [*CAPITAL,
                   {"role": "assistant", "content": "", "tool_calls": [
                       {"function": {"name": "get_weather", "arguments": {"city": "Oslo"}}}]},
                   {"role": "tool", "tool_name": "get_weather", "content": "-3 degrees"}]
        reply = self.chat(history, tools=self.TOOLS, think=False)
        self.assertTrue(reply.message.content or reply.message.tool_calls)

    def test_errors_are_words(self):
        with self.assertRaises(ollama.ResponseError) as caught:
            self.client.chat(model="nobody", messages=HI)
        self.assertEqual(caught.exception.status_code, 404)
        with self.assertRaises(ollama.ResponseError) as caught:
            self.chat(options={"mirostat": 2})
        self.assertEqual(caught.exception.status_code, 400)
        self.assertIn("options.mirostat", caught.exception.error)

    def test_filling_a_gap_is_refused_by_a_model_without_it(self):
        with self.assertRaises(ollama.ResponseError) as caught:
            self.generate(suffix="end")
        self.assertIn("fill-in-the-middle", caught.exception.error)


class Responses(ClientCase):
    def ask(self, input=CAPITAL[0]["content"], **more):
        more = {"temperature": 0, "max_output_tokens": 16} | more
        reply = self.client.responses.create(model=self.model, input=input, **more)
        return reply if more.get("stream") else strict(reply)

    def test_an_answer_has_every_part(self):
        reply = self.ask(store=False, metadata={"a": "b"})
        self.assertEqual((reply.object, reply.status, reply.store), ("response", "completed", False))
        self.assertEqual(reply.output_text, PARIS)
        self.assertEqual(reply.metadata, {"a": "b"})
        self.assertEqual(reply.usage.output_tokens, 8)
        self.assertEqual(reply.usage.total_tokens, reply.usage.input_tokens + 8)

    def test_items_and_instructions_are_a_conversation(self):
        first = self.ask()
        items = [{"role": "user", "content": CAPITAL[0]["content"]},
                 *[item.model_dump(exclude_none=True) for item in first.output],
                 {"role": "user", "content": [{"type": "input_text", "text": "And of Italy?"}]}]
        self.assertTrue(self.ask(items, instructions="Be terse.").output_text)

    def test_a_stream_is_numbered_and_whole(self):
        events = [strict(event) for event in self.ask(stream=True)]
        self.assertEqual([event.sequence_number for event in events], list(range(len(events))))
        text = "".join(event.delta for event in events
                       if event.type == "response.output_text.delta")
        self.assertEqual(text, PARIS)
        self.assertEqual(events[-1].type, "response.completed")
        self.assertEqual(events[-1].response.output_text, PARIS)

    def test_the_streaming_helper(self):
        with self.client.responses.stream(model=self.model, input=CAPITAL[0]["content"],
                                          temperature=0, max_output_tokens=16) as stream:
            for _ in stream:
                pass
            self.assertEqual(stream.get_final_response().output_text, PARIS)

    def test_a_cut_answer_is_incomplete(self):
        reply = self.ask(max_output_tokens=3)
        self.assertEqual(reply.status, "incomplete")
        self.assertEqual(reply.incomplete_details.reason, "max_output_tokens")

    def test_scores(self):
        reply = self.ask(include=["message.output_text.logprobs"], top_logprobs=3)
        scores = reply.output[0].content[0].logprobs
        self.assertEqual("".join(score.token for score in scores), PARIS)
        self.assertEqual(len(scores[0].top_logprobs), 3)

    TOOLS = [{"type": "function", "name": "get_weather", "parameters": WHERE, "strict": True}]

    def call(self, choice="required", **more):
        more = {"max_output_tokens": 64, "tools": self.TOOLS, "tool_choice": choice} | more
        return self.ask(**more)

    def test_a_call_and_its_result(self):
        for choice in "required", {"type": "function", "name": "get_weather"}:
            with self.subTest(choice):
                reply = self.call(choice, parallel_tool_calls=False)
                (item,) = reply.output
                self.assertEqual((item.type, item.name, item.status),
                                 ("function_call", "get_weather", "completed"))
                self.assertIn(json.loads(item.arguments)["city"], CITIES)
                self.assertEqual(reply.output_text, "")
                items = [*CAPITAL, item.model_dump(exclude_none=True),
                         {"type": "function_call_output", "call_id": item.call_id, "output": "-3"}]
                self.assertTrue(self.ask(items, tools=self.TOOLS).output)

    def test_a_streamed_call_is_the_whole_one(self):
        events = [strict(event) for event in self.call(stream=True, parallel_tool_calls=False)]
        arguments = "".join(event.delta for event in events
                            if event.type == "response.function_call_arguments.delta")
        done = next(event for event in events
                    if event.type == "response.function_call_arguments.done")
        item = events[-1].response.output[0]
        self.assertEqual([done.arguments, item.arguments], [arguments, arguments])
        self.assertIn(json.loads(arguments)["city"], CITIES)

    def test_the_streaming_helper_gives_the_call(self):
        with self.client.responses.stream(
                model=self.model, input=CAPITAL[0]["content"], temperature=0, tools=self.TOOLS,
                tool_choice="required", parallel_tool_calls=False,
                max_output_tokens=64) as stream:
            for _ in stream:
                pass
            item = stream.get_final_response().output[0]
        self.assertIn(item.parsed_arguments["city"], CITIES)

    def test_faults_of_functions_are_named(self):
        named = {"type": "function", "name": "x"}
        for place, more in (("tools[0].name", {"tools": [named | {"name": "a b"}]}),
                            ("tool_choice.name", {"tool_choice": named}),
                            ("tools[0].type", {"tools": [{"type": "web_search"}]})):
            with self.subTest(place), self.assertRaises(openai.BadRequestError) as caught:
                self.call(**more)
            self.assertEqual(caught.exception.param, place)

    def test_what_needs_a_store_is_refused_by_name(self):
        for name, value in (("previous_response_id", "resp_1"), ("conversation", "conv_1"),
                            ("background", True), ("truncation", "auto")):
            with self.assertRaises(openai.BadRequestError) as caught:
                self.ask(**{name: value})
            self.assertEqual(caught.exception.param, name)
            self.assertEqual(caught.exception.code, "unsupported_parameter")

    def test_embeddings_in_both_encodings(self):
        texts = ["A cat sat on the mat.", "Stocks fell on Monday."]
        packed = strict(self.client.embeddings.create(model=self.model, input=texts))  # base64
        plain = self.client.embeddings.create(
            model=self.model, input=texts, encoding_format="float")
        self.assertEqual([entry.index for entry in packed.data], [0, 1])
        for one, other in zip(packed.data, plain.data):
            self.assertAlmostEqual(math.hypot(*other.embedding), 1, places=5)
            for a, b in zip(one.embedding, other.embedding, strict=True):
                self.assertAlmostEqual(a, b, places=6)
        self.assertEqual(packed.usage.total_tokens, packed.usage.prompt_tokens)

    def test_embeddings_refuse_dimensions(self):
        with self.assertRaises(openai.BadRequestError) as caught:
            self.client.embeddings.create(model=self.model, input="a", dimensions=8)
        self.assertEqual(caught.exception.param, "dimensions")

    def test_a_prompt_that_does_not_fit_names_the_input(self):
        with self.assertRaises(openai.BadRequestError) as caught:
            self.ask("word " * 3000)
        self.assertEqual((caught.exception.param, caught.exception.code),
                         ("input", "context_length_exceeded"))


del ClientCase  # not a case of its own

if __name__ == "__main__":
    unittest.main(verbosity=2)
