// OpenAI's own client for Node against the real program.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import OpenAI from "openai";

import { startDaemon } from "./daemon.mjs";

const TOKEN = "token-of-the-client-tests";
let daemon;
let client;

before(async () => {
  daemon = await startDaemon(undefined, { ECHOVESSEL_TOKEN: TOKEN });
  client = new OpenAI({ apiKey: TOKEN, baseURL: `${daemon.url}/v1`, maxRetries: 0 });
});

after(async () => daemon?.stop());

const messages = [
  { role: "system", content: "You are somebody else." },
  { role: "user", content: "I have a white cat called Soot." },
];

test("personas are listed as models", async () => {
  const ids = [];
  for await (const model of client.models.list()) ids.push(model.id);
  assert.deepEqual(ids, ["default"]);
  assert.equal((await client.models.retrieve("default")).object, "model");
});

test("a reply comes whole, with its usage", async () => {
  const reply = await client.chat.completions.create({ model: "default", messages, user: "node" });
  assert.equal(reply.object, "chat.completion");
  assert.equal(reply.choices[0].finish_reason, "stop");
  assert.ok(reply.choices[0].message.content.length > 0);
  assert.equal(reply.usage.total_tokens, reply.usage.prompt_tokens + reply.usage.completion_tokens);
});

test("a reply is streamed in pieces and ends with its usage", async () => {
  const stream = await client.chat.completions.create({
    model: "default",
    messages: [{ role: "user", content: [{ type: "text", text: "What is my cat called?" }] }],
    user: "node",
    stream: true,
    stream_options: { include_usage: true },
  });
  let text = "";
  let pieces = 0;
  let usage = null;
  let finish = null;
  for await (const chunk of stream) {
    const piece = chunk.choices[0]?.delta?.content;
    if (piece) {
      text += piece;
      pieces += 1;
    }
    finish = chunk.choices[0]?.finish_reason ?? finish;
    usage = chunk.usage ?? usage;
  }
  assert.match(text, /Soot/);
  assert.ok(pieces > 1);
  assert.equal(finish, "stop");
  assert.equal(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens);
});

test("the client's helpers understand the stream", async () => {
  const runner = client.chat.completions.stream({ model: "default", messages, user: "node" });
  const whole = await runner.finalChatCompletion();
  assert.equal(whole.choices[0].message.role, "assistant");
});

test("errors arrive as the client's own", async () => {
  const fails = (body) => client.chat.completions.create({ model: "default", messages, ...body });
  await assert.rejects(fails({ model: "gpt-4" }), (error) => {
    assert.ok(error instanceof OpenAI.NotFoundError);
    assert.equal(error.code, "model_not_found");
    return true;
  });
  await assert.rejects(fails({ tools: [{ type: "function", function: { name: "f" } }] }), (error) => {
    assert.ok(error instanceof OpenAI.BadRequestError);
    assert.equal(error.param, "tools");
    assert.equal(error.code, "unsupported_parameter");
    return true;
  });
  const picture = [{ role: "user", content: [{ type: "image_url", image_url: { url: "data:image/png;base64," } }] }];
  await assert.rejects(fails({ messages: picture }), OpenAI.BadRequestError);
  const stranger = new OpenAI({ apiKey: "wrong", baseURL: `${daemon.url}/v1`, maxRetries: 0 });
  await assert.rejects(stranger.models.list(), OpenAI.AuthenticationError);
});
