"""Answers of a given shape from a real engine with a real model, asked for by the official openai
client: every answer is right under its schema, whatever the model would rather say. Runs itself
again with the client's Python (scripts/client-venv)."""

import json
import re
import typing
import unittest

import client_case

import jsonschema
import pydantic

from engine_process import CHAT, TEXT

HI = [{"role": "user", "content": "Describe a person as JSON."}]
PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 20},
        "age": {"type": "integer", "minimum": 0, "maximum": 120},
        "email": {"type": "string", "format": "email"},
        "tags": {"type": "array", "items": {"enum": ["red", "green"]}, "maxItems": 3},
        "born": {"type": "string", "pattern": "^\\d{4}-\\d{2}$"}},
    "required": ["name", "age", "born"], "additionalProperties": False}
EMOJI = "🦩é赋👩‍👧"


def schema_format(schema, **more):
    return {"type": "json_schema", "json_schema": {"name": "t", "strict": True, "schema": schema} | more}


class StructuredOutput(client_case.ClientCase):
    flags = client_case.ClientCase.flags + ("--tool-parser", "hermes")

    def chat(self, messages=HI, **more):
        more = {"temperature": 0, "max_tokens": 200} | more
        return self.client.chat.completions.create(model=self.model, messages=messages, **more)

    def said(self, **more):
        choice = self.chat(**more).choices[0]
        self.assertEqual(choice.finish_reason, "stop", choice.message.content)
        return choice.message.content

    def asked(self, **more):
        """What a field of another server makes of the answer."""
        return self.said(extra_body=more)

    def refused(self, field, words, **more):
        status, _, body = self.engine.call("POST", CHAT, {"messages": HI} | more)
        error = json.loads(body)["error"]
        self.assertEqual((status, error["param"]), (400, field), body)
        self.assertIn(words, error["message"])

    def test_an_answer_is_right_under_its_schema(self):
        for temperature, seed in ((0, 1), (1, 2), (1.5, 3), (2, 4)):
            value = json.loads(self.said(response_format=schema_format(PERSON),
                                         temperature=temperature, seed=seed))
            jsonschema.validate(value, PERSON)
            self.assertEqual(list(value), [key for key in PERSON["properties"] if key in value])

    def test_samples_are_each_right_and_differ(self):
        reply = self.chat(response_format=schema_format(PERSON), temperature=1.2, seed=5, n=4)
        values = [json.loads(choice.message.content) for choice in reply.choices]
        for value in values:
            jsonschema.validate(value, PERSON)
        self.assertGreater(len({json.dumps(value) for value in values}), 1)

    def test_a_constant_text_streams_byte_by_byte_as_it_is(self):  # report B006
        schema = {"type": "object", "properties": {"v": {"const": EMOJI}}, "required": ["v"],
                  "additionalProperties": False}
        more = {"response_format": schema_format(schema), "max_tokens": 64}
        whole = self.said(**more)
        self.assertEqual(json.loads(whole), {"v": EMOJI})
        chunks = list(self.chat(stream=True, **more))
        parts = [c.choices[0].delta.content or "" for c in chunks if c.choices]
        self.assertEqual("".join(parts), whole)
        self.assertNotIn("\ufffd", whole)
        self.assertEqual(chunks[-1].choices[0].finish_reason, "stop")

    def test_the_parse_helper_gives_an_object(self):
        class Event(pydantic.BaseModel):
            name: str = pydantic.Field(max_length=30)
            day: int = pydantic.Field(ge=1, le=31)
            people: list[typing.Literal["Ann", "Bob"]] = pydantic.Field(max_length=2)

        reply = self.client.chat.completions.parse(
            model=self.model, messages=HI, response_format=Event, temperature=0, max_tokens=400)
        event = reply.choices[0].message.parsed
        self.assertTrue(1 <= event.day <= 31)

    def test_json_object_is_an_object(self):
        ends = {str(token): 12 for text in ('"', "}", '"}') for token in json.loads(
            self.engine.call("POST", "/tokenize", {"prompt": text})[2])["tokens"]}
        value = json.loads(self.said(response_format={"type": "json_object"}, max_tokens=400,
                                     temperature=0.5, seed=1, logit_bias=ends))
        self.assertIsInstance(value, dict)

    def test_blanks_do_not_run_away(self):  # report B050
        pads = [token for text in ("\n", " ", "\n\n", "  ", "\t", "    ", "\n\n\n", " " * 8)
                for token in json.loads(
                    self.engine.call("POST", "/tokenize", {"prompt": text})[2])["tokens"]]
        schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
        more = {"logit_bias": {str(token): 20 for token in pads}, "max_tokens": 400}
        text = self.said(response_format=schema_format(schema), **more)
        jsonschema.validate(json.loads(text), schema)
        self.assertIsNone(re.search(r"\s{18}", text), repr(text))

    def test_other_servers_fields(self):
        self.assertIn(self.asked(guided_choice=["red", "green"]), ("red", "green"))
        self.assertRegex(self.asked(guided_regex="[a-f]{3}-\\d{2}"), r"\A[a-f]{3}-\d{2}\Z")
        self.assertRegex(self.asked(guided_grammar='root ::= "<" [a-z]{2,4} ">"'),
                         r"\A<[a-z]{2,4}>\Z")
        self.assertRegex(self.asked(grammar='root ::= "yes" | "no"'), r"\A(yes|no)\Z")
        jsonschema.validate(json.loads(self.asked(json_schema=PERSON)), PERSON)
        jsonschema.validate(json.loads(self.asked(guided_json=PERSON)), PERSON)
        text = self.asked(structured_outputs={"json": PERSON, "disable_any_whitespace": True})
        jsonschema.validate(json.loads(text), PERSON)
        self.assertIsNone(re.search(r'[{:,]\s+"', text))
        text = self.client.completions.create(
            model=self.model, prompt="Colour:", temperature=0, max_tokens=20,
            extra_body={"structured_outputs": {"choice": [" red", " green"]}}).choices[0].text
        self.assertIn(text, (" red", " green"))

    def test_other_apis(self):
        order = [key for key in PERSON["properties"]]
        body = {"input": "Describe a person as JSON.", "temperature": 0, "max_output_tokens": 200,
                "text": {"format": {"type": "json_schema", "name": "t", "schema": PERSON}}}
        reply = json.loads(self.engine.call("POST", "/v1/responses", body)[2])
        said = [reply["output"][0]["content"][0]["text"]]
        body = {"messages": HI, "stream": False, "format": PERSON, "options": {"temperature": 0}}
        reply = json.loads(self.engine.call("POST", "/api/chat", body)[2])
        said.append(reply["message"]["content"])
        for text in said:
            jsonschema.validate(json.loads(text), PERSON)
            self.assertEqual(list(json.loads(text)), [key for key in order if key in text])
        status, _, reply = self.engine.call("POST", "/api/chat", body | {
            "format": {"properties": {"v": {"not": {}}}, "required": ["v"]}})
        self.assertEqual(status, 400, reply)
        self.assertIn(b"format.properties.v.not", reply)

    def test_functions_beside_a_shape(self):
        tools = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
        call = {"const": {"name": "f", "arguments": {}}}
        said = self.said(tools=tools, response_format=schema_format(call))
        self.assertEqual(json.loads(said), call["const"])
        text = "<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>"
        self.assertEqual(self.said(tools=tools, extra_body={"guided_choice": [text]}), text)
        for choice in ("required", {"type": "function", "function": {"name": "f"}}):
            self.refused("tool_choice", "of a given shape", tools=tools, tool_choice=choice,
                         response_format=schema_format(call))

    def test_max_tokens_cuts_an_answer(self):
        choice = self.chat(response_format=schema_format(PERSON), max_tokens=3).choices[0]
        self.assertEqual(choice.finish_reason, "length")

    def test_logprobs_are_plain_numbers(self):  # report B034
        reply = self.chat(response_format=schema_format({"const": "abc"}), logprobs=True,
                          top_logprobs=20, logit_bias={"1": -100})
        for token in reply.choices[0].logprobs.content:
            self.assertEqual(len(token.top_logprobs), 20)
            self.assertTrue(all(-10000 < top.logprob <= 0 for top in token.top_logprobs))

    def test_neighbours_do_not_notice(self):
        alone = self.chat(max_tokens=24).choices[0].message.content
        body = {"messages": HI, "temperature": 0, "max_tokens": 24, "n": 3}
        free = json.loads(self.engine.call("POST", CHAT, body)[2])
        shaped = self.chat(response_format=schema_format(PERSON), n=4, temperature=1, seed=1)
        self.assertEqual(len(shaped.choices), 4)
        self.assertEqual({c["message"]["content"] for c in free["choices"]}, {alone})

    def test_a_broken_stream_is_resumed_inside_its_answer(self):
        body = {"prompt": "A person: ", "temperature": 1, "seed": 3, "max_tokens": 200,
                "guided_json": PERSON, "kantha": {"return_token_ids": True}}
        whole = json.loads(self.engine.call("POST", TEXT, body)[2])
        ids = whole["choices"][0]["kantha"]["token_ids"]
        for cut in (1, len(ids) // 2, len(ids) - 1):
            rest = body | {"kantha": {"resume": {"token_ids": ids[:cut]}, "return_token_ids": True}}
            reply = json.loads(self.engine.call("POST", TEXT, rest)[2])
            self.assertEqual(reply["choices"][0]["kantha"]["token_ids"], ids[cut:])
            self.assertEqual(reply["choices"][0]["finish_reason"], "stop")
        wrong = body | {"kantha": {"resume": {"token_ids": [ids[1], ids[1]]}}}
        status, _, reply = self.engine.call("POST", TEXT, wrong)
        self.assertEqual(status, 400, reply)

    def test_what_cannot_be_held_is_refused_by_name(self):  # reports B044, B046
        place = "response_format.json_schema.schema"
        for pattern, words in (("^ab\\@c{2$", "no quantifier"), ("(?<=q)z", "look-around"),
                               ("(a)\\1", "back-reference"), ("\\p{L}", "\\p{…}"),
                               ("\\bx", "\\b"), ("[a", "unclosed class"), ("*a", "nothing to repeat"),
                               ("a{1,2000000000}", "at most 10000 repeats")):
            schema = {"properties": {"v": {"type": "string", "pattern": pattern}}, "required": ["v"]}
            self.refused(place + ".properties.v.pattern", words,
                         response_format=schema_format(schema))
        self.refused(place + ".not", "not is not supported",
                     response_format=schema_format({"not": {"type": "null"}}))
        self.refused(place, "no answer", response_format=schema_format(False))
        self.refused("response_format.type", "expected text", response_format={"type": "xml"})
        self.refused("grammar", "no rule \"root\"", grammar="x ::= \"a\"")
        self.refused("guided_regex", "already says", guided_regex="a",
                     response_format={"type": "json_object"})


if __name__ == "__main__":
    unittest.main()
