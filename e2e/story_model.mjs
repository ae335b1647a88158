// A language model that plays a life of `stories.mjs`: for the pictures.

import { createServer } from "node:http";

const PAUSE_MS = 15;

/** `{ settings, stop() }`: `settings` make a daemon talk to it. */
export async function startStoryModel(story) {
  const lines = [...story.past.flatMap(({ lines }) => lines), ...story.today];
  const server = createServer(async (request, response) => {
    const body = JSON.parse(Buffer.concat(await request.toArray()).toString());
    const prompt = body.messages.map(({ content }) => (typeof content === "string" ? content : JSON.stringify(content))).join("\n");
    const text = body.stream ? reply(prompt) : JSON.stringify(answerFor(prompt));
    if (body.stream) await stream(response, text);
    else respond(response, text);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const settings = {
    ECHOVESSEL__LLM__PROVIDER: "openai",
    ECHOVESSEL__LLM__BASE_URL: `http://127.0.0.1:${server.address().port}/v1`,
    ECHOVESSEL__LLM__MODEL: "local-model",
  };
  return { settings, stop: () => server.close() };

  /** The answer to the line that the prompt contains last. */
  function reply(prompt) {
    const [last] = lines.toSorted((a, b) => prompt.lastIndexOf(b.says) - prompt.lastIndexOf(a.says));
    return prompt.includes(last.says) ? last.answer : story.other;
  }

  function answerFor(prompt) {
    if (prompt.includes("self_check_notes")) return extraction(prompt);
    if (prompt.includes('"thoughts"')) {
      return { thoughts: [{ description: story.thought, subject: "user", emotional_impact: 3, filling: ["e1"] }] };
    }
    if (prompt.includes('"salient_questions"')) {
      return { new_thoughts: [], new_expectations: [], new_intentions: [], salient_questions: [], entity_descriptions: [] };
    }
    if (prompt.includes('"bullets"')) return { bullets: [] };
    return { entities: [], relationships: [] };
  }

  function extraction(prompt) {
    const handleOf = (says) => /\bm\d+\b(?![\s\S]*\bm\d+\b)/.exec(prompt.slice(0, prompt.lastIndexOf(says)))?.[0];
    const events = lines.filter(({ says, event }) => event && prompt.includes(says)).map((line) => ({
      type: "event",
      description: line.event,
      emotional_impact: line.impact,
      emotion_tags: line.feelings,
      relational_tags: line.tags,
      subject: "user",
      event_time: null,
      evidence: [{ message: handleOf(line.says), quote: line.quote }],
      supersedes: [],
      entities: line.names,
    }));
    const names = [...new Set(events.flatMap(({ entities }) => entities))];
    return {
      events,
      mentioned_entities: names.map((name) => ({ canonical_name: name, aliases: [], kind: story.names[name] })),
      entity_clarification: null,
      session_mood_signal: { mood: "warm", energy: 7, last_user_signal: null },
      session_summary: events[0]?.description ?? story.summary,
      self_check_notes: "No peak was missed.",
    };
  }
}

const usage = { prompt_tokens: 1480, completion_tokens: 32, total_tokens: 1512 };

function respond(response, content) {
  const choice = { index: 0, message: { role: "assistant", content }, finish_reason: "stop" };
  response.writeHead(200, { "Content-Type": "application/json" });
  response.end(JSON.stringify({ id: "story", object: "chat.completion", model: "local-model", choices: [choice], usage }));
}

async function stream(response, text) {
  response.writeHead(200, { "Content-Type": "text/event-stream" });
  const send = (choices, more = {}) =>
    response.write(`data: ${JSON.stringify({ id: "story", object: "chat.completion.chunk", model: "local-model", choices, ...more })}\n\n`);
  for (const content of text.match(/\S{1,8}\s*/g)) {
    send([{ index: 0, delta: { content }, finish_reason: null }]);
    await new Promise((next) => setTimeout(next, PAUSE_MS));
  }
  send([{ index: 0, delta: {}, finish_reason: "stop" }]);
  send([], { usage });
  response.end("data: [DONE]\n\n");
}
