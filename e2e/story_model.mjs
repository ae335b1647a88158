// A language model that plays one authored conversation: for the book's pictures.

import { createServer } from "node:http";

/** What the user says, what the persona answers, and what is remembered of it. */
export const STORY = [
  [
    {
      says: "My sister Ines moved to Porto for her new job. I already miss our Sunday breakfasts.",
      answer: "Sundays will feel quiet for a while. What did you two usually make?",
      event: "The user's sister Ines moved to Porto for a new job; the user misses their Sunday breakfasts together.",
      quote: "My sister Ines moved to Porto for her new job.",
      impact: -4,
      feelings: ["longing"],
      tags: [],
      names: ["Ines", "Porto"],
    },
    {
      says: "Pancakes, every breakfast, with far too much lemon. She called it our tradition.",
      answer: "Then it is one. You could make them on the same Sunday, each in your own kitchen, and call.",
      event: "The user and Ines always made pancakes with too much lemon for breakfast, and call it their tradition.",
      quote: "Pancakes, every breakfast, with far too much lemon.",
      impact: 5,
      feelings: ["warmth", "nostalgia"],
      tags: ["identity-bearing"],
      names: ["Ines"],
    },
  ],
  [
    {
      says: "Biscuit was diagnosed with arthritis on Tuesday. The vet says short walks are best.",
      answer: "Poor Biscuit. Short walks and a warm blanket, then. How is he taking it?",
      event: "The user's dog Biscuit was diagnosed with arthritis; the vet recommends short walks.",
      quote: "Biscuit was diagnosed with arthritis on Tuesday.",
      impact: -5,
      feelings: ["worry"],
      tags: ["unresolved"],
      names: ["Biscuit"],
    },
    {
      says: "He is fine as long as there is cheese. I signed up for the spring 10k, by the way!",
      answer: "Cheese solves a lot. And a 10k! I'll ask how the training goes.",
      event: "The user signed up for the spring 10k run.",
      quote: "I signed up for the spring 10k, by the way!",
      impact: 6,
      feelings: ["excitement", "pride"],
      tags: ["commitment"],
      names: ["Biscuit"],
    },
  ],
  [
    {
      says: "Good morning! I am making the Sunday breakfast that Ines and I always had.",
      answer: "Pancakes, then, with far too much lemon. It is your tradition. Did you call her?",
    },
    {
      says: "You remembered! She is on the phone right now, burning hers in Porto.",
      answer: "Then the tradition is safe. Tell her the first one is always for the dog. Biscuit will agree.",
    },
  ],
];

const LINES = STORY.flat();
const NAMES = { Ines: "person", Porto: "place", Biscuit: "pet" };
const PAUSE_MS = 15;

/** `{ settings, stop() }`: `settings` make a daemon talk to it. */
export async function startStoryModel() {
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
}

/** The answer to the line that the prompt contains last. */
function reply(prompt) {
  const [last] = LINES.toSorted((a, b) => prompt.lastIndexOf(b.says) - prompt.lastIndexOf(a.says));
  return prompt.includes(last.says) ? last.answer : "Tell me more.";
}

function answerFor(prompt) {
  if (prompt.includes("self_check_notes")) return extraction(prompt);
  if (prompt.includes('"thoughts"')) {
    const description = "They hold on to small traditions when people they love are far away.";
    return { thoughts: [{ description, subject: "user", emotional_impact: 3, filling: ["e1"] }] };
  }
  if (prompt.includes('"salient_questions"')) {
    return { new_thoughts: [], new_expectations: [], new_intentions: [], salient_questions: [], entity_descriptions: [] };
  }
  if (prompt.includes('"bullets"')) return { bullets: [] };
  return { entities: [], relationships: [] };
}

function extraction(prompt) {
  const handleOf = (says) => /\bm\d+\b(?![\s\S]*\bm\d+\b)/.exec(prompt.slice(0, prompt.lastIndexOf(says)))?.[0];
  const events = LINES.filter(({ says, event }) => event && prompt.includes(says)).map((line) => ({
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
    mentioned_entities: names.map((name) => ({ canonical_name: name, aliases: [], kind: NAMES[name] })),
    entity_clarification: null,
    session_mood_signal: { mood: "warm", energy: 7, last_user_signal: null },
    session_summary: events[0]?.description ?? "They had breakfast together.",
    self_check_notes: "No peak was missed.",
  };
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
  for (const content of text.match(/\S+\s*/g)) {
    send([{ index: 0, delta: { content }, finish_reason: null }]);
    await new Promise((next) => setTimeout(next, PAUSE_MS));
  }
  send([{ index: 0, delta: {}, finish_reason: "stop" }]);
  send([], { usage });
  response.end("data: [DONE]\n\n");
}
