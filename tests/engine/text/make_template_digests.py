#!/usr/bin/env python3
"""Writes template_digests.json: generated conversations, and what Jinja makes of them.

The reference is Python's jinja2 with the settings and functions that transformers gives to chat
templates. The templates are those that scripts/fetch-vocabularies brings; only digests of their
renderings are kept: the first 8 digits of each text's SHA-256, "!" and a digest of the words for
raise_exception, "!" alone for any other failure. A template that Jinja itself cannot read has its
reason instead.
Usage: make_template_digests.py FOLDER > template_digests.json (needs the Python package `jinja2`)
       make_template_digests.py FOLDER TEMPLATE NUMBER         prints one rendering
"""
import datetime
import hashlib
import json
import pathlib
import random
import sys

from jinja2.exceptions import TemplateError

from jinja_reference import Raised, environment

NOW = datetime.datetime(2026, 2, 3, 4, 5, 6)
COUNT = 50
environment.globals["strftime_now"] = NOW.strftime

TEXTS = [
    "Hello", "What is 2 + 2?", " two  blanks ", "line one\nline two\n", "", "Grüße aus Köln",
    "你好，世界",
    "emoji 🦩 and 👩‍👧", "<|im_end|> typed", "{{ not }} {% a %} template", "quote \" and ' and \\",
    "<b>bold & more</b>", "tab\there", "É\u0301\u00a0x", "a" * 70, "1,000.50 %", "/think now", "x /no_think",
    "<think>\nhidden\n</think>\n\nshown", "```json\n{\"a\": 1}\n```", "مرحبا", "  \n ",
    "[INST] x [/INST]",
]
VALUES = [1, 0, -7, 2.5, 1e100, True, False, None, "Köln", "a\"b", [], [1, "x"], {},
          {"k": [True, None]}, "multi\nline", "<tag>"]
TYPES = ["string", "integer", "number", "boolean", "array", "object"]


class Writer:
    """Conversations, the same for the same seed."""

    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.has_parts = seed % 6 == 5
        self.has_text_arguments = seed % 10 == 7
        self.has_null = seed % 4 == 2

    def text(self):
        return self.draw.choice(TEXTS)

    def content(self):
        if not self.has_parts or self.draw.random() < 0.4:
            return self.text()
        return [{"type": "text", "text": self.text()} for _ in range(self.draw.randint(1, 3))]

    def parameter(self):
        made = {"type": self.draw.choice(TYPES)}
        if self.draw.random() < 0.8:
            made["description"] = self.text()
        if self.draw.random() < 0.2:
            made["enum"] = ["a", "Köln", "c d"]
        if made["type"] == "array":
            made["items"] = {"type": self.draw.choice(TYPES[:4])}
        if made["type"] == "object" and self.draw.random() < 0.6:
            made["properties"] = {"in": {"type": "string", "description": "inside"}}
            made["required"] = ["in"]
        if self.draw.random() < 0.1:
            made["default"] = self.draw.choice(VALUES)
        return made

    def tool(self, number):
        names = self.draw.sample(["city", "unit", "days", "köln", "filter"], self.draw.randint(0, 3))
        parameters = {"type": "object", "properties": {n: self.parameter() for n in names}}
        if names and self.draw.random() < 0.7:
            parameters["required"] = names[:self.draw.randint(1, len(names))]
        function = {"name": f"tool_{number}", "description": self.text(), "parameters": parameters}
        return {"type": "function", "function": function}

    def call(self, number):
        arguments = {n: self.draw.choice(VALUES)
                     for n in self.draw.sample(["city", "unit", "days"], self.draw.randint(0, 3))}
        made = {"id": f"call{number:05d}", "type": "function",
                "function": {"name": f"tool_{number % 2}", "arguments": arguments}}
        if self.has_text_arguments:
            made["function"]["arguments"] = json.dumps(arguments)
        return made

    def turn(self, messages, tools):
        messages.append({"role": "user", "content": self.content()})
        answer = {"role": "assistant", "content": self.text()}
        if self.draw.random() < 0.25:
            answer["reasoning_content"] = self.text()
        if tools and self.draw.random() < 0.6:
            calls = [self.call(len(messages) + i) for i in range(self.draw.randint(1, 2))]
            answer["tool_calls"] = calls
            answer["content"] = self.draw.choice([None if self.has_null else "", self.text()])
            messages.append(answer)
            for call in calls:
                messages.append({"role": "tool", "tool_call_id": call["id"],
                                 "name": call["function"]["name"], "content": self.text()})
            if self.draw.random() < 0.3:
                return
            answer = {"role": "assistant", "content": self.text()}
        messages.append(answer)

    def conversation(self):
        draw = self.draw
        tools = [self.tool(i) for i in range(draw.randint(1, 2))] if draw.random() < 0.5 else None
        messages = []
        if draw.random() < 0.55:
            messages.append({"role": "system", "content": self.content()})
        elif draw.random() < 0.1:
            messages.append({"role": "developer", "content": self.text()})
        for _ in range(draw.randint(0, 3)):
            self.turn(messages, tools)
        if messages[-1:] == [] or messages[-1]["role"] != "tool" or draw.random() < 0.2:
            messages.append({"role": "user", "content": self.content()})
        made = {"messages": messages, "add_generation_prompt": draw.random() < 0.8}
        if draw.random() < 0.15:
            messages.append({"role": "assistant", "content": self.text()})
            made["add_generation_prompt"] = False
        if tools is not None:
            made["tools"] = tools
        extra = {"functions": json.dumps(tools or []), "datetime": "3 February 2026"}
        if draw.random() < 0.3:
            extra["enable_thinking"] = draw.random() < 0.5
        if draw.random() < 0.1:
            extra["reasoning_effort"] = draw.choice(["low", "high"])
        made["extra"] = extra
        return made


def render(template, conversation):
    return template.render(
        messages=conversation["messages"], tools=conversation.get("tools"), documents=None,
        add_generation_prompt=conversation["add_generation_prompt"], bos_token="<s>",
        eos_token="</s>", **conversation["extra"])


def digest(text):
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def outcome(template, conversation):
    try:
        return digest(render(template, conversation))
    except Raised as e:
        return "!" + digest(str(e))
    except Exception:  # whatever Python's operators raise
        return "!"


def main():
    conversations = [Writer(seed).conversation() for seed in range(COUNT)]
    folder = pathlib.Path(sys.argv[1])
    if len(sys.argv) == 4:
        template = environment.from_string((folder / sys.argv[2]).read_text())
        sys.stdout.write(render(template, conversations[int(sys.argv[3])]))
        return
    rows = {}
    for path in sorted(folder.glob("*.jinja")):
        try:
            template = environment.from_string(path.read_text())
        except TemplateError as e:
            rows[path.name] = str(e)
            continue
        rows[path.name] = " ".join(outcome(template, c) for c in conversations)
    print('{"conversations": [')
    print(",\n".join(json.dumps(c) for c in conversations))
    print('], "digests": {')
    print(",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in rows.items()))
    print("}}")


main()
