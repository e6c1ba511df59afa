"""The official openai client, unpatched, against a real engine: what an existing program sends
works, and what it gets is what the client's own types promise. Runs itself again with the client's
Python (scripts/client-venv)."""

import json
import math
import pathlib
import unittest

import client_case
from client_case import strict

import openai
import pydantic

from engine_process import MODEL, Engine, wait_for

HI = [{"role": "user", "content": "Say hi."}]
CAPITAL = [{"role": "user", "content": "What is the capital of France?"}]
COMMA, STOP = 28, 30  # tokens of "," and "."
NAME = pathlib.Path(MODEL).stem


class ClientCase(client_case.ClientCase):
    def chat(self, messages=HI, **more):
        more = {"temperature": 0, "max_tokens": 12} | more
        reply = self.client.chat.completions.create(model=self.model, messages=messages, **more)
        return reply if more.get("stream") else strict(reply)

    def text(self, prompt="Once upon a time", **more):
        more = {"temperature": 0, "max_tokens": 8} | more
        reply = self.client.completions.create(model=self.model, prompt=prompt, **more)
        # The client's type lacks the null that a prompt's first token has in place of scores.
        return reply if more.get("stream") or more.get("echo") else strict(reply)

    def said(self, **more):
        return self.chat(**more).choices[0].message.content

    def wrote(self, *prompt, **more):
        return self.text(*prompt, **more).choices[0].text

    def refused(self, param, call, code=None, words=None):
        """The call is a BadRequestError that names its field."""
        with self.assertRaises(openai.BadRequestError) as caught:
            call()
        error = caught.exception
        self.assertEqual(error.status_code, 400)
        self.assertEqual(error.type, "invalid_request_error")
        self.assertEqual(error.param, param, error.message)
        if code is not None:
            self.assertEqual(error.code, code)
        if words is not None:
            self.assertIn(words, error.message)
        self.assertEqual(set(error.body), {"message", "type", "param", "code"})


class Models(ClientCase):
    def test_the_list_has_the_served_model(self):
        models = self.client.models.list()
        self.assertEqual([model.object for model in models.data], ["model"])
        self.assertGreater(models.data[0].created, 0)

    def test_a_model_is_found_by_its_name(self):
        self.assertEqual(strict(self.client.models.retrieve(self.model)).id, self.model)

    def test_an_unknown_model_is_not_found(self):
        with self.assertRaises(openai.NotFoundError) as caught:
            self.client.models.retrieve("nobody")
        self.assertEqual(caught.exception.code, "model_not_found")

    def test_a_request_for_an_unknown_model_is_not_found(self):
        with self.assertRaises(openai.NotFoundError) as caught:
            self.client.chat.completions.create(model="nobody", messages=HI)
        self.assertEqual(caught.exception.param, "model")


class Chat(ClientCase):
    def test_an_answer_has_every_part(self):
        reply = self.chat(CAPITAL)
        self.assertEqual(reply.object, "chat.completion")
        self.assertTrue(reply.id.startswith("chatcmpl-"))
        self.assertEqual(reply.model, self.model)
        self.assertTrue(reply.system_fingerprint)
        choice = reply.choices[0]
        self.assertEqual((choice.index, choice.finish_reason), (0, "stop"))
        self.assertEqual(choice.message.role, "assistant")
        self.assertEqual(choice.message.content, "The capital of France is Paris.")
        self.assertIsNone(choice.message.tool_calls)

    def test_usage_adds_up(self):
        usage = self.chat(CAPITAL).usage
        self.assertEqual(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens)
        self.assertEqual(usage.completion_tokens, 8)
        self.assertGreaterEqual(usage.prompt_tokens_details.cached_tokens, 0)

    def test_content_parts_are_text(self):
        parts = [{"role": "user", "content": [{"type": "text", "text": CAPITAL[0]["content"]}]}]
        self.assertEqual(self.said(messages=parts), "The capital of France is Paris.")

    def test_roles_and_history_are_taken(self):
        history = [{"role": "developer", "content": "You are terse."}, *CAPITAL,
                   {"role": "assistant", "content": "Paris."},
                   {"role": "user", "content": "And of Italy?", "name": "ada"}]
        self.assertTrue(self.said(messages=history))

    def test_max_completion_tokens_is_max_tokens(self):
        reply = self.client.chat.completions.create(
            model=self.model, messages=CAPITAL, temperature=0, max_completion_tokens=2)
        self.assertEqual(reply.usage.completion_tokens, 2)
        self.assertEqual(reply.choices[0].finish_reason, "length")

    def test_harmless_fields_are_accepted(self):
        self.assertTrue(self.said(user="u", metadata={"a": "b"}, store=False,
                                  parallel_tool_calls=True, service_tier="auto",
                                  safety_identifier="s", prompt_cache_key="k",
                                  response_format={"type": "text"}, modalities=["text"]))


class Streams(ClientCase):
    def test_a_chat_stream_joins_to_the_whole_answer(self):
        chunks = [strict(chunk) for chunk in self.chat(CAPITAL, stream=True)]
        text = "".join(c.choices[0].delta.content or "" for c in chunks)
        self.assertEqual(text, self.said(messages=CAPITAL))
        self.assertEqual(len({chunk.id for chunk in chunks}), 1)
        self.assertEqual(chunks[0].choices[0].delta.role, "assistant")
        self.assertTrue(all(c.choices[0].delta.role is None for c in chunks[1:]))
        self.assertEqual([c.choices[0].finish_reason for c in chunks if c.choices[0].finish_reason],
                         ["stop"])
        self.assertIsNone(chunks[-1].choices[0].delta.content)

    def test_a_text_stream_joins_to_the_whole_answer(self):
        # Not strict: the client's type lacks the null that finish_reason is until the end.
        chunks = list(self.text(stream=True))
        self.assertEqual("".join(chunk.choices[0].text for chunk in chunks), self.wrote())

    def test_include_usage_ends_with_one_chunk_without_choices(self):
        chunks = list(self.chat(stream=True, stream_options={"include_usage": True}))
        self.assertEqual(chunks[-1].choices, [])
        self.assertEqual(chunks[-1].usage.completion_tokens, self.chat().usage.completion_tokens)
        self.assertTrue(all(chunk.usage is None for chunk in chunks[:-1]))

    def test_the_streaming_helper_gives_the_final_completion(self):
        with self.client.chat.completions.stream(model=self.model, messages=CAPITAL, temperature=0,
                                                 max_tokens=12) as stream:
            kinds = {event.type for event in stream}
            final = stream.get_final_completion()
        self.assertIn("content.delta", kinds)
        self.assertEqual(final.choices[0].message.content, "The capital of France is Paris.")

    def test_several_choices_come_by_their_index(self):
        texts = {}
        for chunk in self.chat(stream=True, n=3, temperature=1, seed=5):
            for choice in chunk.choices:
                texts[choice.index] = texts.get(choice.index, "") + (choice.delta.content or "")
        whole = self.chat(n=3, temperature=1, seed=5)
        self.assertEqual(texts, {c.index: c.message.content for c in whole.choices})

    def test_a_stream_that_is_closed_frees_the_engine(self):
        with self.chat(stream=True, max_tokens=900, extra_body={"ignore_eos": True}) as stream:
            next(iter(stream))
        wait_for(self.engine.is_idle, 60, "idle engine after a client that left")

    def test_a_bad_stream_is_an_error_and_no_stream(self):
        self.refused("top_p", lambda: self.chat(stream=True, top_p=7))

    def test_logprobs_of_a_stream_are_those_of_the_whole(self):
        whole = self.chat(CAPITAL, logprobs=True, top_logprobs=2).choices[0].logprobs.content
        pieces = [entry for chunk in self.chat(CAPITAL, stream=True, logprobs=True, top_logprobs=2)
                  if chunk.choices[0].logprobs for entry in chunk.choices[0].logprobs.content]
        self.assertEqual(pieces, whole)


class Sampling(ClientCase):
    def test_the_same_seed_gives_the_same_answer(self):
        answers = {self.said(temperature=1, seed=11) for _ in range(3)}
        self.assertEqual(len(answers), 1)

    def test_other_seeds_give_other_answers(self):
        self.assertGreater(len({self.wrote(temperature=1.5, seed=s) for s in range(4)}), 1)

    def test_n_gives_distinct_samples_and_counts_the_prompt_once(self):
        reply = self.text(n=4, temperature=1.5, seed=3)
        self.assertEqual([choice.index for choice in reply.choices], [0, 1, 2, 3])
        self.assertGreater(len({choice.text for choice in reply.choices}), 1)
        self.assertEqual(reply.usage.prompt_tokens, self.text().usage.prompt_tokens)

    def test_the_first_sample_is_the_one_of_n_1(self):
        many = self.text(n=3, temperature=1, seed=3).choices[0].text
        self.assertEqual(many, self.wrote(temperature=1, seed=3))

    def test_top_p_0_is_greedy(self):
        self.assertEqual(self.wrote(temperature=1, top_p=0), self.wrote())

    def test_extra_samplers_of_other_servers(self):
        for extra in ({"top_k": 1}, {"min_p": 0.999}, {"typical_p": 1.0, "top_k": 1}):
            self.assertEqual(self.wrote(temperature=1, extra_body=extra), self.wrote(), extra)

    def test_logit_bias_bans_and_forces(self):
        self.assertEqual(self.wrote(logit_bias={str(COMMA): 100}, max_tokens=4), ",,,,")
        self.assertNotIn(",", self.wrote(logit_bias={str(COMMA): -100}, max_tokens=30))

    def test_frequency_penalty_ends_repetition(self):
        forced = {str(COMMA): 30, str(STOP): 29}
        self.assertEqual(self.wrote(logit_bias=forced, max_tokens=4), ",,,,")
        penalised = self.wrote(logit_bias=forced, max_tokens=4, frequency_penalty=2)
        self.assertNotEqual(penalised, ",,,,")

    def test_presence_penalty_leaves_the_prompt_alone(self):
        plain = self.wrote("the the the the the", max_tokens=1)
        self.assertEqual(self.wrote("the the the the the", max_tokens=1, presence_penalty=2), plain)

    def test_repetition_penalty_reaches_the_prompt(self):
        prompt = "a b c a b c a b c a b"
        penalised = self.wrote(prompt, max_tokens=1, extra_body={"repetition_penalty": 3.0})
        self.assertNotEqual(penalised, self.wrote(prompt, max_tokens=1))

    def test_zero_penalties_change_nothing(self):
        self.assertEqual(self.wrote(frequency_penalty=0, presence_penalty=0, logit_bias={},
                                    extra_body={"repetition_penalty": 1}), self.wrote())

    def test_allowed_tokens_and_bad_words(self):
        body = {"allowed_token_ids": [COMMA, STOP], "bad_words": [","]}
        self.assertEqual(self.wrote(extra_body=body, max_tokens=3), "...")

    def test_min_tokens_puts_the_end_off(self):
        reply = self.chat(CAPITAL, max_tokens=20, extra_body={"min_tokens": 15})
        self.assertGreaterEqual(reply.usage.completion_tokens, 15)

    def test_ignore_eos_goes_on_to_max_tokens(self):
        reply = self.chat(CAPITAL, max_tokens=20, extra_body={"ignore_eos": True})
        self.assertEqual(reply.usage.completion_tokens, 20)
        self.assertEqual(reply.choices[0].finish_reason, "length")


class Stops(ClientCase):
    def test_a_stop_string_ends_the_text_before_it(self):
        reply = self.chat(CAPITAL, stop=" Paris")
        self.assertEqual(reply.choices[0].message.content, "The capital of France is")
        self.assertEqual(reply.choices[0].finish_reason, "stop")

    def test_several_stops_take_the_first_in_the_text(self):
        self.assertEqual(self.said(messages=CAPITAL, stop=["Paris", "France", "xyz"]),
                         "The capital of ")

    def test_the_stop_string_can_be_kept(self):
        self.assertEqual(self.said(messages=CAPITAL, stop=["France"],
                                   extra_body={"include_stop_str_in_output": True}),
                         "The capital of France")

    def test_logprobs_end_with_the_text(self):
        choice = self.chat(CAPITAL, stop=" Paris", logprobs=True).choices[0]
        self.assertEqual("".join(entry.token for entry in choice.logprobs.content),
                         choice.message.content)

    def test_stop_tokens(self):
        reply = self.chat(CAPITAL, extra_body={"stop_token_ids": [STOP]})
        self.assertEqual(reply.choices[0].message.content, "The capital of France is Paris")


class Logprobs(ClientCase):
    def test_chat_logprobs_have_token_bytes_and_top(self):
        choice = self.chat(CAPITAL, logprobs=True, top_logprobs=3).choices[0]
        self.assertEqual("".join(e.token for e in choice.logprobs.content), choice.message.content)
        for entry in choice.logprobs.content:
            self.assertEqual(bytes(entry.bytes).decode(), entry.token)
            self.assertEqual(len(entry.top_logprobs), 3)
            self.assertEqual(entry.top_logprobs[0].token, entry.token)
            self.assertLessEqual(entry.logprob, 0)
            self.assertLessEqual(sum(math.exp(t.logprob) for t in entry.top_logprobs), 1 + 1e-6)

    def test_chat_logprobs_alone_have_no_top(self):
        choice = self.chat(logprobs=True).choices[0]
        self.assertTrue(all(entry.top_logprobs == [] for entry in choice.logprobs.content))

    def test_none_without_asking(self):
        self.assertIsNone(self.chat().choices[0].logprobs)
        self.assertIsNone(self.text().choices[0].logprobs)

    def test_text_logprobs_have_offsets(self):
        choice = self.text(logprobs=2).choices[0]
        lists = choice.logprobs
        self.assertEqual("".join(lists.tokens), choice.text)
        offset = 0
        for token, place in zip(lists.tokens, lists.text_offset, strict=True):
            self.assertEqual(place, offset)
            offset += len(token)
        for token, logprob, top in zip(lists.tokens, lists.token_logprobs, lists.top_logprobs,
                                       strict=True):
            self.assertEqual(top[token], logprob)

    def test_temperature_and_bias_leave_them_alone(self):
        plain = self.text(logprobs=1, max_tokens=1).choices[0].logprobs
        biased = self.text(logprobs=1, max_tokens=1, temperature=2,
                           logit_bias={str(COMMA): 100}).choices[0].logprobs
        self.assertEqual(biased.tokens, [","])
        best = plain.tokens[0]
        self.assertAlmostEqual(biased.top_logprobs[0][best], plain.token_logprobs[0], places=5)


class PromptLogprobs(ClientCase):
    def test_echo_shows_and_scores_the_prompt(self):
        choice = self.text("The sun rises in the", echo=True, logprobs=1, max_tokens=2).choices[0]
        lists = choice.logprobs
        self.assertTrue(choice.text.startswith("The sun rises in the"))
        self.assertEqual("".join(lists.tokens), choice.text)
        self.assertIsNone(lists.token_logprobs[0])
        self.assertTrue(all(value <= 0 for value in lists.token_logprobs[1:]))
        starts = [0]
        for token in lists.tokens[:-1]:
            starts.append(starts[-1] + len(token))
        self.assertEqual(lists.text_offset, starts)

    def test_echo_alone(self):
        choice = self.text("ab cd", echo=True, max_tokens=0).choices[0]
        self.assertEqual((choice.text, choice.finish_reason), ("ab cd", "length"))

    def test_a_streamed_echo_joins_to_the_whole(self):
        more = {"echo": True, "logprobs": 1, "max_tokens": 4}
        whole = self.text("ab cd", **more).choices[0]
        chunks = list(self.text("ab cd", stream=True, **more))
        self.assertEqual("".join(c.choices[0].text for c in chunks), whole.text)
        tokens = [token for c in chunks if c.choices[0].logprobs
                  for token in c.choices[0].logprobs.tokens]
        self.assertEqual(tokens, whole.logprobs.tokens)

    def ids(self, text):
        return json.loads(self.engine.call("POST", "/tokenize", {"prompt": text})[2])["tokens"]

    def test_loglikelihoods_as_lm_eval_asks_for_them(self):
        """local-completions: context and continuation as ids, one token of output, sums over the
        continuation, greedy where each token is the best of its place."""
        context = self.ids("The capital of France is")
        rows = [context + self.ids(word) for word in (" Paris", " London", " banana")]
        reply = self.text(rows, max_tokens=1, logprobs=1, echo=True, seed=1234)
        sums, greedy = [], []
        for choice in sorted(reply.choices, key=lambda c: c.index):
            lists = choice.logprobs
            part = slice(len(context), -1)
            sums.append(sum(lists.token_logprobs[part]))
            greedy.append(all(token == max(top, key=top.get) for token, top in
                              zip(lists.tokens[part], lists.top_logprobs[part], strict=True)))
        self.assertEqual(sums.index(max(sums)), 0)
        self.assertEqual(greedy, [True, False, False])
        again = self.text(rows[1], max_tokens=1, logprobs=1, echo=True).choices[0].logprobs
        self.assertEqual(sum(again.token_logprobs[len(context):-1]), sums[1])

    def test_prompt_logprobs_as_vllm_tells_them(self):
        choice = self.text("ab cd", max_tokens=1, extra_body={"prompt_logprobs": 2}).choices[0]
        first, *others = choice.prompt_logprobs
        self.assertIsNone(first)
        for place in others:
            self.assertGreaterEqual(len(place), 2)
            self.assertTrue(all({"logprob", "rank", "decoded_token"} == set(v)
                                for v in place.values()))
        reply = self.chat(max_tokens=1, extra_body={"prompt_logprobs": 0})
        self.assertEqual(len(reply.prompt_logprobs), reply.usage.prompt_tokens)

    def test_best_of_keeps_the_likeliest(self):
        reply = self.text(n=1, best_of=5, temperature=1.5, seed=3)
        self.assertEqual(len(reply.choices), 1)
        self.assertEqual(reply.usage.completion_tokens, 40)
        means = []
        for choice in self.text(n=5, temperature=1.5, seed=3, logprobs=0).choices:
            means.append((sum(choice.logprobs.token_logprobs) / 8, choice.text))
        self.assertEqual(reply.choices[0].text, max(means)[1])

    def test_best_of_is_not_streamed(self):
        self.refused("best_of", lambda: self.text(best_of=2, stream=True))
        self.refused("best_of", lambda: self.text(best_of=2, n=3))


def function(name, **properties):
    return {"type": "function", "function": {
        "name": name, "description": f"The function {name}.", "parameters": {
            "type": "object", "properties": {key: {"type": kind} for key, kind in
                                             properties.items()}, "required": list(properties)}}}


WEATHER = function("get_weather", city="string")
PING = function("ping")
OSLO = [{"role": "user", "content": "What is the weather in Oslo?"}]


class Tools(ClientCase):
    """The model calls nothing by itself, so that calls are begun for it."""

    def call(self, choice="required", tools=(WEATHER,), **more):
        more = {"max_tokens": 64, "seed": 1} | more
        return self.chat(OSLO, tools=list(tools), tool_choice=choice, **more)

    @staticmethod
    def named(name):
        return {"type": "function", "function": {"name": name}}

    def test_a_required_call_has_every_part(self):
        choice = self.call(parallel_tool_calls=False).choices[0]
        self.assertEqual(choice.finish_reason, "tool_calls")
        self.assertIsNone(choice.message.content)
        call = choice.message.tool_calls[0]
        self.assertTrue(call.id.startswith("call_"))
        self.assertEqual((call.type, call.function.name), ("function", "get_weather"))
        self.assertIsInstance(json.loads(call.function.arguments), dict)

    def test_arguments_of_forced_calls_are_valid(self):
        """Whatever the model would rather write, at any temperature."""
        schema = {"type": "object", "properties": {
            "city": {"enum": ["Oslo", "Bergen"]},
            "days": {"type": "integer", "minimum": 1, "maximum": 7},
            "at": {"type": "string", "pattern": "^[0-9]{2}:[0-9]{2}$"}},
            "required": ["city", "days", "at"], "additionalProperties": False}
        tool = {"type": "function", "function": {"name": "get_forecast", "parameters": schema}}
        for choice in "required", self.named("get_forecast"):
            for seed in range(4):
                with self.subTest(choice=choice, seed=seed):
                    message = self.call(
                        choice, [tool], temperature=seed / 2, seed=seed, max_tokens=256,
                        parallel_tool_calls=False).choices[0].message
                    value = json.loads(message.tool_calls[0].function.arguments)
                    self.assertEqual(list(value), ["city", "days", "at"])
                    self.assertIn(value["city"], ["Oslo", "Bergen"])
                    self.assertIn(value["days"], range(1, 8))
                    self.assertRegex(value["at"], r"\A[0-9]{2}:[0-9]{2}\Z")

    def test_a_named_call_is_of_that_function_and_ends_with_stop(self):
        choice = self.call(self.named("ping"), (WEATHER, PING)).choices[0]
        self.assertEqual([c.function.name for c in choice.message.tool_calls], ["ping"])
        self.assertEqual(choice.finish_reason, "stop")

    def test_a_streamed_call_joins_to_the_whole_one(self):
        for choice in "required", self.named("get_weather"):
            with self.subTest(choice):
                whole = self.call(choice).choices[0]
                calls, reason = {}, None
                for chunk in self.call(choice, stream=True):
                    reason = chunk.choices[0].finish_reason or reason
                    for part in chunk.choices[0].delta.tool_calls or []:
                        if part.index not in calls:
                            calls[part.index] = [part.id, part.function.name, ""]
                        else:
                            self.assertIsNone(part.id)
                            self.assertIsNone(part.function.name)
                        calls[part.index][2] += part.function.arguments
                self.assertEqual(
                    list(calls.values()),
                    [[c.id, c.function.name, c.function.arguments]
                     for c in whole.message.tool_calls])
                self.assertEqual(reason, whole.finish_reason)

    def test_the_streaming_helper_gives_the_final_call(self):
        with self.client.chat.completions.stream(
                model=self.model, messages=OSLO, tools=[WEATHER], tool_choice="required",
                temperature=0, max_tokens=64, seed=1) as stream:
            final = stream.get_final_completion()
        whole = self.call().choices[0].message.tool_calls[0]
        call = final.choices[0].message.tool_calls[0]
        self.assertEqual((call.id, call.function.name, call.function.arguments),
                         (whole.id, whole.function.name, whole.function.arguments))

    def test_no_more_than_one_call_where_none_shall_be_parallel(self):
        message = self.call(parallel_tool_calls=False, max_tokens=200).choices[0].message
        self.assertEqual(len(message.tool_calls), 1)

    def test_ids_follow_the_seed_and_the_conversation(self):
        def id_of(**more):
            return self.call(**more).choices[0].message.tool_calls[0].id
        self.assertEqual(id_of(), id_of())
        self.assertNotEqual(id_of(), id_of(seed=2))

    def test_calls_and_results_are_taken_back(self):
        message = self.call().choices[0].message
        history = [*OSLO, message, {"role": "tool", "content": "-3 degrees",
                                    "tool_call_id": message.tool_calls[0].id}]
        reply = self.chat(history, tools=[WEATHER])
        self.assertGreater(reply.usage.prompt_tokens, self.call().usage.prompt_tokens)

    def test_history_with_arguments_that_are_no_json_is_taken(self):
        history = [*OSLO, {"role": "assistant", "content": None, "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "ping", "arguments": "{oh"}}]},
            {"role": "tool", "content": "x", "tool_call_id": "c"}]
        self.assertTrue(self.chat(history).choices[0].finish_reason)

    def test_auto_and_none_may_say_something(self):
        for choice in "auto", "none":
            message = self.call(choice, max_tokens=8).choices[0].message
            self.assertTrue(message.content or message.tool_calls)
        self.assertIsNone(self.call("none", max_tokens=8).choices[0].message.tool_calls)

    def test_functions_cost_prompt_tokens_unless_none_may_be_called(self):
        plain = self.chat(OSLO).usage.prompt_tokens
        self.assertGreater(self.call("auto").usage.prompt_tokens, plain + 20)
        self.assertEqual(self.call("none").usage.prompt_tokens, plain)

    def test_n_samples_have_calls_of_their_own(self):
        choices = self.call(n=2, temperature=1).choices
        self.assertEqual(len({c.message.tool_calls[0].id for c in choices
                              if c.message.tool_calls}), len(choices))

    def test_faults_name_their_place(self):
        cases = {
            "tools[0].function.name": {"tools": [function("a b")]},
            "tools[1].function.name": {"tools": [PING, PING]},
            "tools[0].type": {"tools": [{"type": "custom"}]},
            "tool_choice.function.name": {"tools": [PING], "tool_choice": self.named("f")},
            "tool_choice": {"tool_choice": "required"},
            "tools": {"tools": [function(f"f{i}") for i in range(129)]},
        }
        for place, more in cases.items():
            with self.subTest(place):
                self.refused(place, lambda more=more: self.chat(**more))

    def test_reasoning_wishes_are_taken(self):
        reply = self.chat(reasoning_effort="low", extra_body={"thinking_token_budget": 4})
        self.assertTrue(reply.choices[0].message.content)
        self.refused("reasoning_effort", lambda: self.chat(reasoning_effort="lots"))


class Errors(ClientCase):
    def test_ranges_name_their_field(self):
        cases = {"temperature": -1, "top_p": 2, "n": 0, "max_tokens": 0, "presence_penalty": 3,
                 "frequency_penalty": -3, "logprobs": "yes", "seed": 1.5, "stop": [""],
                 "logit_bias": {"x": 1}, "top_logprobs": 99}
        for field, value in cases.items():
            with self.subTest(field):
                more = {field: value}
                name = "stop[0]" if field == "stop" else field
                self.refused(name, lambda more=more: self.chat(**more))

    def test_missing_messages(self):
        self.refused("messages", lambda: self.client.post(
            "/chat/completions", body={"model": self.model}, cast_to=object),
            code="missing_required_parameter")

    def test_a_prompt_that_does_not_fit(self):
        self.refused("prompt", lambda: self.text("word " * 2000), code="context_length_exceeded")

    def test_unsupported_wishes_are_named(self):
        self.refused("functions", lambda: self.chat(functions=[{"name": "f", "parameters": {}}]),
                     code="unsupported_parameter")
        self.refused("suffix", lambda: self.text(suffix="end"), code="unsupported_parameter")

    def test_stream_options_need_a_stream(self):
        self.refused("stream_options", lambda: self.chat(stream_options={"include_usage": True}))

    def test_a_forbidden_answer_is_a_bad_request(self):
        body = {"allowed_token_ids": [COMMA], "bad_words": [","]}
        self.refused(None, lambda: self.text(extra_body=body), words="bad_words")

    def test_unknown_paths_are_not_found(self):
        with self.assertRaises(openai.NotFoundError):
            self.client.post("/nowhere", body={}, cast_to=object)

    def test_broken_json_is_a_bad_request(self):
        status, _, body = self.engine.call("POST", "/v1/completions", b"{")
        self.assertEqual(status, 400)
        self.assertIn(b"invalid_request_error", body)

    def test_fields_that_nobody_knows_are_ignored(self):
        self.assertEqual(self.wrote(extra_body={"a_field_of_tomorrow": 1}), self.wrote())


class RawAnswers(ClientCase):
    def test_headers_of_a_whole_answer(self):
        raw = self.client.chat.completions.with_raw_response.create(
            model=self.model, messages=HI, max_tokens=1)
        self.assertEqual(raw.status_code, 200)
        self.assertTrue(raw.headers["content-type"].startswith("application/json"))
        self.assertEqual(raw.parse().usage.completion_tokens, 1)

    def test_headers_of_a_stream(self):
        with self.client.completions.with_streaming_response.create(
                model=self.model, prompt="a", max_tokens=2, stream=True) as raw:
            self.assertTrue(raw.headers["content-type"].startswith("text/event-stream"))
            lines = [line for line in raw.iter_lines() if line]
        self.assertEqual(lines[-1], "data: [DONE]")

    def test_prompts_of_every_form(self):
        ids = [9690, 198, 2683]
        for prompt in ("a", ["a", "b"], ids, [ids, ids]):
            with self.subTest(str(prompt)):
                reply = self.text(prompt, max_tokens=2)
                several = isinstance(prompt[0], list) or prompt == ["a", "b"]
                self.assertEqual(len(reply.choices), 2 if several else 1)


class Async(unittest.IsolatedAsyncioTestCase):
    async def test_many_at_once_say_what_each_says_alone(self):
        import asyncio
        with Engine("--max-model-len", "512", "--max-num-seqs", "8") as engine:
            host, port = engine.address
            async with openai.AsyncOpenAI(base_url=f"http://{host}:{port}/v1", api_key="none",
                                          max_retries=0) as client:
                async def ask(i):
                    reply = await client.completions.create(
                        model="", prompt=f"Number {i}:", max_tokens=8, temperature=1, seed=i,
                        frequency_penalty=0.5)
                    return reply.choices[0].text
                together = await asyncio.gather(*(ask(i) for i in range(12)))
                alone = [await ask(i) for i in range(12)]
            self.assertEqual(together, alone)


if __name__ == "__main__":
    assert pydantic.VERSION
    unittest.main(verbosity=1)
