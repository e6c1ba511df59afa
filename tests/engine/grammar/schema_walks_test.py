"""500 random schemas against an independent validator (jsonschema): every text that the masks of a
grammar can write is right under its schema, right values in our order of keys are accepted, and
wrong ones never are. Runs itself again with the client's Python (scripts/client-venv)."""

import json
import os
import pathlib
import random
import subprocess
import sys

try:
    import jsonschema
except ImportError:
    SCRIPT = pathlib.Path(__file__).resolve().parents[3] / "scripts" / "client-venv"
    PYTHON = subprocess.run([SCRIPT], check=True, capture_output=True, text=True).stdout.strip()
    os.execv(PYTHON, [PYTHON, *sys.argv])

SCHEMAS = 500
WALKS = 6
PATTERNS = ["^[a-c]{2,4}$", "x", "^(ab|cd)*$", "^\\d{3}-\\w+$", "[^a]b?$", "^.{1,3}$", "^$|^q"]
FORMATS = ["date", "time", "date-time", "uuid", "ipv4", "ipv6"]
WORDS = ["a", "b", "", "zebra", "é🦩", "with \"quotes\"", "line\nbreak", "ünï"]


def scalar(rng):
    return rng.choice([None, True, False, 0, 1, -7, 42, 2.5, *WORDS])


def number_schema(rng, kind):
    schema = {"type": kind}
    low = rng.choice([-120, -1.5, -1, 0, 0.25, 3, 17])
    if rng.random() < 0.6:
        schema[rng.choice(["minimum", "exclusiveMinimum"])] = low
    if rng.random() < 0.6:
        schema[rng.choice(["maximum", "exclusiveMaximum"])] = low + rng.choice([2, 2.75, 100, 5000])
    if kind == "integer" and rng.random() < 0.2:
        schema["multipleOf"] = rng.choice([2, 3, 7])
        schema.pop("exclusiveMaximum", None)
        schema.pop("maximum", None)
    return schema


def string_schema(rng):
    schema = {"type": "string"}
    kind = rng.random()
    if kind < 0.3:
        schema["minLength"] = rng.randint(0, 3)
        if rng.random() < 0.7:
            schema["maxLength"] = schema["minLength"] + rng.randint(0, 4)
    elif kind < 0.6:
        schema["pattern"] = rng.choice(PATTERNS)
    elif kind < 0.75:
        schema["format"] = rng.choice(FORMATS)
    return schema


def object_schema(rng, depth):
    names = rng.sample(["a", "b", "kind", "é", "with space", "q\"", "n1", "n2"], rng.randint(0, 4))
    schema = {"type": "object", "properties": {name: make(rng, depth + 1) for name in names}}
    if names and rng.random() < 0.7:
        schema["required"] = rng.sample(names, rng.randint(1, len(names)))
    extra = rng.random()
    if extra < 0.4:
        schema["additionalProperties"] = False
    elif extra < 0.6:
        schema["additionalProperties"] = make(rng, depth + 2)
    elif extra < 0.75:
        schema["patternProperties"] = {"^n": make(rng, depth + 2)}
    if rng.random() < 0.1:
        schema["maxProperties"] = max(len(schema.get("required", [])), 2)
    return schema


def array_schema(rng, depth):
    schema = {"type": "array"}
    if rng.random() < 0.3:
        schema["prefixItems"] = [make(rng, depth + 1) for _ in range(rng.randint(1, 3))]
    if rng.random() < 0.8:
        schema["items"] = False if rng.random() < 0.1 else make(rng, depth + 1)
    if rng.random() < 0.4:
        schema["maxItems"] = rng.randint(0, 4)
    if rng.random() < 0.3:
        schema["minItems"] = rng.randint(0, schema.get("maxItems", 2))
    return schema


def combined(rng, depth):
    kind = rng.random()
    if kind < 0.4:
        return {"anyOf": [make(rng, depth + 1) for _ in range(rng.randint(1, 3))]}
    if kind < 0.6:
        return {"oneOf": [make(rng, depth + 1) for _ in range(rng.randint(1, 3))]}
    if kind < 0.8:
        return {"allOf": [make(rng, depth + 1), make(rng, depth + 1)]}
    return {"oneOf": [{"type": "object", "required": ["kind", "v"],
                       "properties": {"kind": {"const": word}, "v": make(rng, depth + 2)}}
                      for word in rng.sample(WORDS, 2)]}


def make(rng, depth=0):
    """A schema of any kind; deeper ones are simpler."""
    kind = rng.random()
    if depth < 3 and kind < 0.3:
        return object_schema(rng, depth)
    if depth < 3 and kind < 0.45:
        return array_schema(rng, depth)
    if depth < 3 and kind < 0.57:
        return combined(rng, depth)
    if kind < 0.65:
        return {"enum": rng.sample([None, True, 1, 42, 2.5, *WORDS], rng.randint(1, 4))}
    if kind < 0.7:
        return {"const": rng.choice([scalar(rng), {"x": [1, {"y": None}]}, [True]])}
    if kind < 0.74:
        return {"$ref": "#/$defs/tree"}
    if kind < 0.77:
        return rng.choice([{}, True, {"type": ["string", "null"]}, {"type": ["integer", "boolean"]}])
    if kind < 0.88:
        return number_schema(rng, rng.choice(["integer", "number"]))
    return string_schema(rng) if kind < 0.96 else {"type": rng.choice(["null", "boolean"])}


def instance(rng, depth=0):
    """Some value, of whatever kind."""
    kind = rng.random()
    if depth < 2 and kind < 0.2:
        return {rng.choice(["a", "b", "kind", "n1"]): instance(rng, depth + 1) for _ in range(2)}
    if depth < 2 and kind < 0.35:
        return [instance(rng, depth + 1) for _ in range(rng.randint(0, 3))]
    return scalar(rng)


def mutated(rng, value):
    """The value with something of it changed."""
    if isinstance(value, dict) and value and rng.random() < 0.8:
        key = rng.choice(list(value))
        copy = dict(value)
        if rng.random() < 0.3:
            del copy[key]
        else:
            copy[key] = mutated(rng, copy[key])
        return copy
    if isinstance(value, list) and value and rng.random() < 0.8:
        at = rng.randrange(len(value))
        instead = [] if rng.random() < 0.3 else [mutated(rng, value[at])]
        return value[:at] + instead + value[at + 1:]
    if isinstance(value, (int, float)) and not isinstance(value, bool) and rng.random() < 0.7:
        return value + rng.choice([-1, 1, 0.5, 1000])
    if isinstance(value, str) and rng.random() < 0.7:
        return value + rng.choice(["x", "1"])
    return instance(rng)


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def ask(orders):
    program = pathlib.Path(os.environ["KANTHA_BIN_DIR"]) / "engine_grammar_schema_walks"
    lines = "".join(json.dumps(order, ensure_ascii=False) + "\n" for order in orders)
    run = subprocess.run([program], input=lines.encode(), capture_output=True, check=True)
    return [json.loads(line) for line in run.stdout.splitlines()]


def main():
    rng = random.Random(int(sys.argv[1]) if len(sys.argv) > 1 else 8)
    schemas = []
    for _ in range(SCHEMAS):
        schema = make(rng)
        if isinstance(schema, bool):
            schema = {"anyOf": [schema]}
        schema["$defs"] = {"tree": {
            "type": "object", "additionalProperties": False, "required": ["v"],
            "properties": {"v": {"type": "integer"}, "kids": {"type": "array", "items": {
                "$ref": "#/$defs/tree"}}}}}
        schemas.append(schema)
    checkers = [jsonschema.Draft202012Validator(
        schema, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER)
        for schema in schemas]
    first = ask([{"schema": schema, "walks": WALKS, "seed": i, "texts": []}
                 for i, schema in enumerate(schemas)])
    faults, refused, walks = [], 0, 0
    orders = []
    for schema, checker, reply in zip(schemas, checkers, first):
        values = []
        if "error" in reply:
            refused += 1
            named = ("oneOf" in reply["error"] or "no answer" in reply["error"]
                     or "is within the bounds" in reply["error"])
            if not named or not reply["field"].startswith("schema"):
                faults.append(("a refusal without a reason", schema, reply["error"]))
        for text in reply.get("walks", []):
            walks += 1
            if text is None:
                faults.append(("a dead end", schema, text))
                continue
            value = json.loads(text)
            values.append(value)
            if not checker.is_valid(value):
                faults.append(("a wrong answer", schema, text))
        texts = [compact(value) for value in values]
        texts += [compact(mutated(rng, value)) for value in values for _ in range(4)]
        texts += [compact(instance(rng)) for _ in range(8)]
        orders.append({"schema": schema, "walks": 0, "seed": 0, "texts": texts})
    right = wrong = 0
    for schema, checker, order, reply in zip(schemas, checkers, orders, ask(orders)):
        for text, accepted in zip(order["texts"], reply.get("accepted", [])):
            valid = checker.is_valid(json.loads(text))
            right += accepted
            wrong += not valid
            if accepted and not valid:
                faults.append(("a wrong value is accepted", schema, text))
    for kind, schema, text in faults[:5]:
        print(f"{kind}: {compact(schema)}\n  {text}")
    print(f"{len(schemas)} schemas, {refused} refused by name, {walks} answers written, "
          f"{right} values accepted, {wrong} wrong ones met")
    assert not faults, f"{len(faults)} faults"
    assert refused < SCHEMAS / 4 and walks > SCHEMAS * 3 and right > SCHEMAS and wrong > SCHEMAS


if __name__ == "__main__":
    main()
