// The official openai package for Node, unpatched, against a real engine. openai_node_test.py
// starts the engine and says where it is: KANTHA_BASE_URL, KANTHA_MODEL.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

const packages = createRequire(process.env.KANTHA_NODE_PACKAGES + "/package.json");
const { default: OpenAI } = await import(pathToFileURL(packages.resolve("openai")).href).then(
  (module) => (module.default?.OpenAI ? { default: module.default.OpenAI } : module));

const model = process.env.KANTHA_MODEL;
const client = new OpenAI({ baseURL: process.env.KANTHA_BASE_URL, apiKey: "none", maxRetries: 0 });

const HI = [{ role: "user", content: "Say hi." }];
const CAPITAL = [{ role: "user", content: "What is the capital of France?" }];
const PARIS = "The capital of France is Paris.";
const STORY = "Once upon a time";

const chat = (more = {}) => client.chat.completions.create(
  { model, messages: HI, temperature: 0, max_tokens: 12, ...more });
const text = (more = {}) => client.completions.create(
  { model, prompt: STORY, temperature: 0, max_tokens: 8, ...more });
const respond = (more = {}) => client.responses.create(
  { model, input: CAPITAL[0].content, temperature: 0, max_output_tokens: 16, ...more });

const said = async (more) => (await chat(more)).choices[0].message.content;
const wrote = async (more) => (await text(more)).choices[0].text;

async function all(stream) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

/** The call is refused with a status, an error class of the package, and the field's name. */
async function refused(call, status, param, code) {
  await assert.rejects(call, (error) => {
    assert.equal(error.status, status);
    const kinds = { 400: OpenAI.BadRequestError, 404: OpenAI.NotFoundError };
    if (kinds[status]) assert.ok(error instanceof kinds[status], error.constructor.name);
    if (param !== undefined) assert.equal(error.param, param, error.message);
    if (code !== undefined) assert.equal(error.code, code);
    return true;
  });
}

test("models: the list has the served model", async () => {
  const models = await all(client.models.list());
  assert.deepEqual(models.map((entry) => entry.id), [model]);
  assert.equal(models[0].object, "model");
});
test("models: one is found by its name", async () => {
  assert.equal((await client.models.retrieve(model)).id, model);
});
test("models: an unknown one is not found", () =>
  refused(() => client.models.retrieve("nobody"), 404, "model", "model_not_found"));

test("chat: an answer has every part", async () => {
  const reply = await chat({ messages: CAPITAL });
  assert.equal(reply.object, "chat.completion");
  assert.ok(reply.id.startsWith("chatcmpl-"));
  assert.equal(reply.model, model);
  assert.deepEqual([reply.choices[0].index, reply.choices[0].finish_reason], [0, "stop"]);
  assert.equal(reply.choices[0].message.role, "assistant");
  assert.equal(reply.choices[0].message.content, PARIS);
  assert.equal(reply.choices[0].message.refusal, null);
});
test("chat: usage adds up", async () => {
  const { usage } = await chat({ messages: CAPITAL });
  assert.equal(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens);
  assert.equal(usage.completion_tokens, 8);
  assert.ok(usage.prompt_tokens_details.cached_tokens >= 0);
});
test("chat: content parts are text", async () => {
  const content = [{ type: "text", text: CAPITAL[0].content }];
  assert.equal(await said({ messages: [{ role: "user", content }] }), PARIS);
});
test("chat: the developer's words are the system's", async () => {
  const words = "You only speak in rhyme.";
  const [developer, system] = await Promise.all(["developer", "system"].map(
    (role) => said({ messages: [{ role, content: words }, ...HI] })));
  assert.equal(developer, system);
});
test("chat: history is taken", async () => {
  const messages = [...CAPITAL, { role: "assistant", content: "Paris." },
    { role: "user", content: "And of Italy?", name: "ada" }];
  assert.ok(await said({ messages }));
});
test("chat: max_completion_tokens is max_tokens", async () => {
  const reply = await client.chat.completions.create(
    { model, messages: CAPITAL, temperature: 0, max_completion_tokens: 2 });
  assert.equal(reply.usage.completion_tokens, 2);
  assert.equal(reply.choices[0].finish_reason, "length");
});
test("chat: harmless fields change nothing", async () => {
  const more = { user: "u", metadata: { a: "b" }, store: false, tools: [], parallel_tool_calls: true,
    response_format: { type: "text" }, service_tier: "auto" };
  assert.equal(await said({ messages: CAPITAL, ...more }), PARIS);
});
test("chat: Unicode comes through whole", async () => {
  const reply = await chat({ messages: [{ role: "user", content: "Repeat: 日本 🙂 é" }] });
  assert.ok(!reply.choices[0].message.content.includes("\ufffd"));
});

test("stream: a chat joins to the whole answer", async () => {
  const chunks = await all(await chat({ messages: CAPITAL, stream: true }));
  assert.equal(chunks.map((chunk) => chunk.choices[0].delta.content ?? "").join(""), PARIS);
  assert.equal(chunks[0].choices[0].delta.role, "assistant");
  assert.equal(chunks.at(-1).choices[0].finish_reason, "stop");
  assert.equal(new Set(chunks.map((chunk) => chunk.id)).size, 1);
});
test("stream: a text joins to the whole answer", async () => {
  const chunks = await all(await text({ stream: true }));
  assert.equal(chunks.map((chunk) => chunk.choices[0].text).join(""), await wrote());
});
test("stream: usage is one last chunk without choices", async () => {
  const chunks = await all(await chat({ stream: true, stream_options: { include_usage: true } }));
  assert.deepEqual(chunks.at(-1).choices, []);
  assert.ok(chunks.at(-1).usage.completion_tokens > 0);
  assert.ok(chunks.slice(0, -1).every((chunk) => chunk.usage === null));
});
test("stream: the helper gives the final completion", async () => {
  const runner = client.chat.completions.stream(
    { model, messages: CAPITAL, temperature: 0, max_tokens: 12 });
  let heard = "";
  runner.on("content", (delta) => { heard += delta; });
  const final = await runner.finalChatCompletion();
  assert.equal(final.choices[0].message.content, PARIS);
  assert.equal(heard, PARIS);
});
test("stream: several choices come by their index", async () => {
  const chunks = await all(await chat({ stream: true, n: 3, temperature: 1, seed: 3 }));
  const ends = chunks.filter((chunk) => chunk.choices[0]?.finish_reason)
    .map((chunk) => chunk.choices[0].index);
  assert.deepEqual(ends.sort(), [0, 1, 2]);
});
test("stream: one that is left ends its work", async () => {
  const stream = await text({ stream: true, max_tokens: 900, ignore_eos: true });
  for await (const chunk of stream) {
    assert.ok(chunk.choices);
    break;
  }
  assert.ok(stream.controller.signal.aborted);
});
test("stream: a bad one is an error and no stream", () =>
  refused(() => chat({ stream: true, temperature: 9 }), 400, "temperature"));
test("stream: logprobs are those of the whole", async () => {
  const whole = await chat({ logprobs: true, top_logprobs: 2 });
  const chunks = await all(await chat({ logprobs: true, top_logprobs: 2, stream: true }));
  const told = chunks.flatMap((chunk) => chunk.choices[0].logprobs?.content ?? []);
  assert.deepEqual(told, whole.choices[0].logprobs.content);
});
test("stream: it can be turned into a web stream and back", async () => {
  const stream = await chat({ messages: CAPITAL, stream: true });
  const bytes = await new Response(stream.toReadableStream()).text();
  const joined = bytes.trim().split("\n").map((line) => JSON.parse(line))
    .map((chunk) => chunk.choices[0].delta.content ?? "").join("");
  assert.equal(joined, PARIS);
});

test("sampling: the same seed gives the same answer", async () => {
  const more = { temperature: 1, seed: 11 };
  assert.equal(await said(more), await said(more));
});
test("sampling: other seeds give other answers", async () => {
  const answers = await Promise.all([1, 2, 3, 4].map((seed) => wrote({ temperature: 1, seed })));
  assert.ok(new Set(answers).size > 1);
});
test("sampling: n samples count the prompt once", async () => {
  const one = await text();
  const three = await text({ n: 3, temperature: 1, seed: 1 });
  assert.equal(three.choices.length, 3);
  assert.equal(three.usage.prompt_tokens, one.usage.prompt_tokens);
});
test("sampling: top_p 0 is greedy", async () => {
  assert.equal(await wrote({ temperature: 1, top_p: 0 }), await wrote());
});
test("sampling: logit_bias forces a token", async () => {
  assert.equal(await wrote({ logit_bias: { 28: 100 }, max_tokens: 3 }), ",,,");
});
test("sampling: penalties are taken", async () => {
  const plain = await wrote({ max_tokens: 32 });
  const other = await wrote({ max_tokens: 32, frequency_penalty: 2, presence_penalty: 2 });
  assert.notEqual(plain, other);
});
test("sampling: best_of keeps the likeliest", async () => {
  const reply = await text({ best_of: 3, n: 1, temperature: 1, seed: 5 });
  assert.equal(reply.choices.length, 1);
  assert.ok(reply.usage.completion_tokens > 8);
});

test("stop: a string ends the text before it", async () => {
  const reply = await chat({ messages: CAPITAL, stop: " Paris" });
  assert.equal(reply.choices[0].message.content, "The capital of France is");
  assert.equal(reply.choices[0].finish_reason, "stop");
});
test("stop: several take the first in the text", async () => {
  assert.equal(await said({ messages: CAPITAL, stop: ["Paris", " of"] }), "The capital");
});

test("logprobs: chat has bytes and top", async () => {
  const { content } = (await chat({ logprobs: true, top_logprobs: 3 })).choices[0].logprobs;
  for (const entry of content) {
    assert.equal(Buffer.from(entry.bytes).toString(), entry.token);
    assert.equal(entry.top_logprobs.length, 3);
    assert.ok(entry.logprob <= 0);
  }
});
test("logprobs: none without asking", async () => {
  assert.equal((await chat()).choices[0].logprobs, null);
});
test("logprobs: text has offsets", async () => {
  const reply = await text({ logprobs: 1 });
  const { tokens, text_offset } = reply.choices[0].logprobs;
  tokens.forEach((token, i) =>
    assert.ok(reply.choices[0].text.startsWith(token, text_offset[i])));
});
test("logprobs: echo scores the prompt", async () => {
  const reply = await text({ echo: true, logprobs: 1, max_tokens: 0 });
  assert.equal(reply.choices[0].text, STORY);
  assert.equal(reply.choices[0].logprobs.token_logprobs[0], null);
});

test("text: prompts of every form", async () => {
  const texts = await text({ prompt: [STORY, "The sun"] });
  assert.deepEqual(texts.choices.map((choice) => choice.index), [0, 1]);
  assert.equal((await text({ prompt: [1, 2, 3] })).choices.length, 1);
  assert.equal((await text({ prompt: [[1, 2], [3]] })).choices.length, 2);
});

test("responses: an answer has every part", async () => {
  const reply = await respond();
  assert.equal(reply.object, "response");
  assert.ok(reply.id.startsWith("resp_"));
  assert.equal(reply.status, "completed");
  assert.equal(reply.output_text, PARIS);
  assert.equal(reply.output[0].role, "assistant");
  assert.equal(reply.store, false);
  assert.equal(reply.usage.total_tokens, reply.usage.input_tokens + reply.usage.output_tokens);
});
test("responses: it says what chat says", async () => {
  const instructions = "You are terse.";
  const messages = [{ role: "system", content: instructions }, ...CAPITAL];
  assert.equal((await respond({ instructions })).output_text,
    await said({ messages, max_tokens: 16 }));
});
test("responses: items are turns", async () => {
  const reply = await respond({ input: [
    { role: "user", content: [{ type: "input_text", text: CAPITAL[0].content }] },
    { role: "assistant", content: PARIS },
    { role: "user", content: "And of Italy?" }] });
  assert.ok(reply.output_text);
});
test("responses: an answer's own items can be sent back", async () => {
  const first = await respond();
  const reply = await respond({ input: [
    { role: "user", content: CAPITAL[0].content }, ...first.output,
    { role: "user", content: "And of Italy?" }] });
  assert.ok(reply.output_text);
});
test("responses: a cut answer is incomplete", async () => {
  const reply = await respond({ max_output_tokens: 2 });
  assert.equal(reply.status, "incomplete");
  assert.equal(reply.incomplete_details.reason, "max_output_tokens");
});
test("responses: a stream numbers its events", async () => {
  const events = await all(await respond({ stream: true }));
  events.forEach((event, i) => assert.equal(event.sequence_number, i));
  assert.equal(events[0].type, "response.created");
  assert.equal(events.at(-1).type, "response.completed");
  const joined = events.filter((event) => event.type === "response.output_text.delta")
    .map((event) => event.delta).join("");
  assert.equal(joined, PARIS);
  assert.equal(events.at(-1).response.output[0].content[0].text, PARIS);
});
test("responses: the helper gives the final response", async () => {
  const runner = client.responses.stream(
    { model, input: CAPITAL[0].content, temperature: 0, max_output_tokens: 16 });
  assert.equal((await runner.finalResponse()).output_text, PARIS);
});
test("responses: scores come when they are included", async () => {
  const reply = await respond(
    { include: ["message.output_text.logprobs"], top_logprobs: 2 });
  const { logprobs } = reply.output[0].content[0];
  assert.equal(logprobs.length, 7);
  assert.equal(logprobs[0].top_logprobs.length, 2);
});
test("responses: nothing is stored, and what needs it is refused", () =>
  refused(() => respond({ previous_response_id: "resp_1" }), 400, "previous_response_id",
    "unsupported_parameter"));
test("responses: a tool of the provider's is refused", () =>
  refused(() => respond({ tools: [{ type: "web_search" }] }), 400, "tools[0].type"));
test("responses: a range names its field", () =>
  refused(() => respond({ max_output_tokens: 0 }), 400, "max_output_tokens"));

test("embeddings: both encodings give the same vector", async () => {
  const input = "A cat sat on the mat.";
  const packed = await client.embeddings.create({ model, input });
  const plain = await client.embeddings.create({ model, input, encoding_format: "float" });
  const vector = packed.data[0].embedding;
  assert.equal(vector.length, plain.data[0].embedding.length);
  vector.forEach((value, i) =>
    assert.ok(Math.abs(value - plain.data[0].embedding[i]) < 1e-6));
  assert.ok(Math.abs(Math.hypot(...vector) - 1) < 1e-5);
});
test("embeddings: many inputs keep their order", async () => {
  const input = ["one", "two", "three"];
  const many = await client.embeddings.create({ model, input });
  const two = await client.embeddings.create({ model, input: input[1] });
  assert.deepEqual(many.data.map((entry) => entry.index), [0, 1, 2]);
  assert.deepEqual(many.data[1].embedding, two.data[0].embedding);
});
test("embeddings: dimensions are refused by name", () =>
  refused(() => client.embeddings.create({ model, input: "a", dimensions: 8 }), 400, "dimensions"));

test("errors: ranges name their field", async () => {
  await refused(() => chat({ top_p: 2 }), 400, "top_p");
  await refused(() => chat({ n: 0 }), 400, "n");
  await refused(() => text({ logprobs: 99 }), 400, "logprobs");
});
test("errors: missing messages", () => refused(() => chat({ messages: undefined }), 400, "messages"));
test("errors: a prompt that does not fit", () =>
  refused(() => text({ prompt: "word ".repeat(3000) }), 400, "prompt", "context_length_exceeded"));
test("errors: an unknown model", () =>
  refused(() => chat({ model: "nobody" }), 404, "model", "model_not_found"));
test("errors: an unknown path", () => refused(() => client.get("/nothing"), 404));
test("errors: stream_options need a stream", () =>
  refused(() => chat({ stream_options: { include_usage: true } }), 400, "stream_options"));
test("errors: an image is refused by name", () =>
  refused(() => chat({ messages: [{ role: "user",
    content: [{ type: "image_url", image_url: { url: "data:" } }] }] }),
  400, "messages[0].content[0].type", "unsupported_parameter"));

test("client: the raw answer has its headers", async () => {
  const { data, response } = await client.chat.completions.create(
    { model, messages: HI, max_tokens: 2 }).withResponse();
  assert.equal(response.headers.get("content-type"), "application/json");
  assert.equal(data.object, "chat.completion");
});
test("client: a deadline of its own is kept", async () => {
  await assert.rejects(
    () => client.completions.create({ model, prompt: STORY, max_tokens: 900, ignore_eos: true },
      { timeout: 50 }),
    OpenAI.APIConnectionTimeoutError);
});
test("client: an abort ends the request", async () => {
  const controller = new AbortController();
  const stream = await client.completions.create(
    { model, prompt: STORY, max_tokens: 900, ignore_eos: true, stream: true },
    { signal: controller.signal });
  let chunks = 0;
  for await (const chunk of stream) {
    assert.ok(chunk.choices);
    if (++chunks === 2) controller.abort();
  }
  assert.ok(chunks < 900);
});
test("client: many at once say what each says alone", async () => {
  const prompts = ["The sun", "A cat", "Water is", "In the year"];
  const alone = [];
  for (const prompt of prompts) alone.push(await wrote({ prompt }));
  assert.deepEqual(await Promise.all(prompts.map((prompt) => wrote({ prompt }))), alone);
});
