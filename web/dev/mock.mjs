#!/usr/bin/env node
// A mock of the daemon for work on the page alone: the same command line, link and paths, with scripted replies.
//   node dev/mock.mjs run --port 7777 --home /tmp/mock [--no-open]
// MOCK_SEED=1 starts with some days of history. Messages with "fail", "cut" or "fast" cause failures.
// POST /dev/missed {content, how: "drop" | "lagged"} makes the page miss something.

import { randomBytes, randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { seed } from "./seed.mjs";

const DIST = fileURLToPath(new URL("../dist/", import.meta.url));
const CSP =
  "default-src 'self'; img-src 'self' data:; style-src 'self'; script-src 'self'; connect-src 'self'; " +
  "frame-ancestors 'none'; base-uri 'none'; form-action 'self'";
const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".png": "image/png", ".webmanifest": "application/manifest+json" };
const IDLE_MS = duration(process.env.ECHOVESSEL__SESSION__IDLE ?? "8s");
const DEBOUNCE_MS = duration(process.env.ECHOVESSEL__CHANNELS__WEB__DEBOUNCE ?? "400ms");
const TOKEN_MS = 35;
const PERSONA = { persona_id: "default", user_id: "self" };

const world = {
  messages: [],
  timeline: [],
  receipts: new Map(),
  failed: new Map(),
  mood: { mood: "neutral", energy: 5, last_user_signal: null, updated_at: new Date().toISOString() },
  session: null,
  turn: null,
};
if (process.env.MOCK_SEED) seed(world);

// ---- events

const subscribers = new Set();
const sent = [];

function publish(name, data) {
  const frame = { id: sent.length + 1, text: `event: ${name}\ndata: ${JSON.stringify({ ...PERSONA, ...data })}\n\n` };
  sent.push(frame);
  for (const response of subscribers) response.write(`id: ${frame.id}\n${frame.text}`);
}

function subscribe(request, response) {
  response.writeHead(200, { ...secure(), "Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-store" });
  response.write(`event: chat.connection.ready\ndata: {"channel_id":"web"}\n\n`);
  const last = Number(request.headers["last-event-id"] ?? sent.length);
  for (const frame of sent.slice(last)) response.write(`id: ${frame.id}\n${frame.text}`);
  subscribers.add(response);
  request.on("close", () => subscribers.delete(response));
}

// ---- a turn

let debounce;
let idle;

function takeMessage({ content, external_ref }) {
  const now = new Date().toISOString();
  if (!world.session) {
    world.session = { id: randomUUID(), started: now };
    publish("chat.session.boundary", { closed_session_id: null, new_session_id: world.session.id, at: now });
  }
  world.turn ??= { id: randomUUID(), messages: [] };
  const message = keep("user", content, world.turn.id, now);
  world.turn.messages.push(message);
  publish("chat.message.user_appended", {
    message_id: message.id,
    turn_id: message.turn_id,
    content,
    received_at: now,
    external_ref: external_ref ?? null,
    source_channel_id: "web",
  });
  clearTimeout(idle);
  clearTimeout(debounce);
  debounce = setTimeout(() => answer(), DEBOUNCE_MS);
  return { ok: true, accepted: [message.id], turn_id: message.turn_id };
}

function keep(role, content, turn_id, created_at, incomplete = false) {
  const message = {
    id: randomUUID(),
    turn_id,
    session_id: world.session.id,
    source_channel_id: "web",
    role,
    content,
    created_at,
    incomplete,
  };
  world.messages.push(message);
  return message;
}

async function answer(turn = world.turn) {
  world.turn = null;
  const said = turn.messages.map((message) => message.content).join("\n");
  const origin = { turn_id: turn.id, source_channel_id: "web" };
  publish("chat.message.typing_started", { message_id: turn.id, ...origin });
  await pause(TOKEN_MS * 10);
  // A retry succeeds.
  if (said.includes("fail") && !turn.again) {
    world.failed.set(turn.id, turn);
    publish("chat.message.failed", {
      ...origin,
      reason: "the model did not answer in 30 s",
      retryable: true,
      user_message_ids: turn.messages.map((message) => message.id),
    });
    return;
  }
  const used = recall(said);
  const incomplete = said.includes("cut");
  let text = "";
  for (const delta of reply(said, used).match(/[\s\S]{1,3}/gu)) {
    text += delta;
    publish("chat.message.token", { delta, ...origin });
    await pause(TOKEN_MS);
    if (incomplete && text.length > 8) break;
  }
  const kept = keep("persona", text, turn.id, new Date().toISOString(), incomplete);
  world.receipts.set(turn.id, {
    turn_id: turn.id,
    created_at: kept.created_at,
    model: "offline",
    usage: { input_tokens: 812, output_tokens: text.length },
    prompt_hash: randomBytes(32).toString("hex"),
    used,
    pinned: used.slice(0, 1).map((candidate) => candidate.id),
    cut: used.length > 1 ? ["# Recent sessions"] : [],
  });
  publish("chat.message.done", {
    message_id: turn.id,
    stored_message_id: kept.id,
    content: text,
    in_reply_to: null,
    in_reply_to_turn_id: turn.id,
    delivery: "text",
    incomplete,
    ...origin,
  });
  idle = setTimeout(closeSession, IDLE_MS);
}

function reply(said, used) {
  if (/猫|cat/i.test(said) && used.length) return "记得呀，小黑嘛！白得像雪，偏偏叫小黑。它昨晚又跳到你脸上了吗？";
  if (/猫|cat/i.test(said)) return "白猫叫小黑，这名字起得真妙。半夜跳到脸上……它大概觉得你睡着的样子太安静了，得管一管。";
  if (/\p{Script=Han}/u.test(said)) return "我在听。你慢慢说，不着急。";
  return "I'm listening. Take your time; there is nowhere else I need to be.";
}

function recall(said) {
  const nodes = world.timeline.filter((item) => item.kind === "event" || item.kind === "thought").slice(-3).reverse();
  const candidates = nodes.map((item, index) => ({
    id: item.data.node_id,
    kind: "node",
    type: item.kind,
    text: item.data.description,
    created_at: item.timestamp,
    total: 4.1 - index,
    recency: 1 - index / 5,
    relevance: 0.82 - index / 5,
    vector_relevance: 0.64 - index / 5,
    word_relevance: 0.82 - index / 5,
    readable: 1,
    impact: Math.abs(item.data.emotional_impact ?? 0) / 10,
    emotional_impact: item.data.emotional_impact ?? 0,
    relational_bonus: index ? 0 : 0.5,
    entity_anchor: /猫|小黑/.test(said) && !index ? 1 : 0,
    used: true,
    reason: null,
  }));
  if (nodes.length < 2) return candidates;
  const words = world.messages.findLast((message) => message.role === "user");
  const parts = { word_relevance: 0.7, recency: 0.9 };
  const passage = { id: words.id, kind: "message", type: null, text: words.content, created_at: words.created_at };
  return [...candidates, { ...passage, total: 1.9, parts, used: true, reason: null }];
}

// ---- memory forms

async function closeSession() {
  const session = world.session;
  world.session = null;
  publish("chat.session.boundary", { closed_session_id: session.id, new_session_id: null, at: new Date().toISOString() });
  const user = world.messages.filter((message) => message.session_id === session.id && message.role === "user");
  const cat = user.find((message) => message.content.includes("小黑"));
  const event = {
    node_id: randomUUID(),
    type: "event",
    subject: "user",
    description: cat ? "用户养了一只叫小黑的白猫，半夜爱跳到他脸上" : `用户说：${user.at(-1).content}`,
    emotional_impact: cat ? 3 : -1,
    session_id: session.id,
  };
  remember("event", event);
  publish("memory.event.created", { event_id: event.node_id, ...event, created_at: world.timeline.at(-1).timestamp });
  await pause(300);
  if (cat) {
    const entity = { entity_id: randomUUID(), canonical_name: "小黑", kind: "pet", merge_status: "confirmed" };
    remember("entity", entity);
    publish("memory.entity.confirmed", { ...entity, created_at: world.timeline.at(-1).timestamp });
    const thought = { node_id: randomUUID(), type: "thought", subject: "user", description: "他嘴上抱怨，其实很宠小黑", emotional_impact: 2, session_id: session.id };
    remember("thought", thought);
    publish("memory.thought.created", { thought_id: thought.node_id, ...thought, source: "reflection", filling_event_ids: [event.node_id], created_at: world.timeline.at(-1).timestamp });
  }
  world.mood = { mood: "温暖", energy: 6, last_user_signal: "warm", updated_at: new Date().toISOString() };
  publish("chat.mood.update", { mood_summary: "温暖 (6/10)", ...world.mood });
  const counts = { events_count: 1, thoughts_count: cat ? 1 : 0 };
  remember("session_close", { session_id: session.id, channel_id: "web", ...counts, duration_seconds: 60, trivial: false });
  publish("chat.session.boundary", { closed_session_id: session.id, new_session_id: null, at: new Date().toISOString(), ...counts });
}

function remember(kind, data) {
  world.timeline.push({ kind, timestamp: new Date().toISOString(), data });
}

// ---- HTTP

const key = randomBytes(16).toString("hex");
let code = randomBytes(12).toString("hex");

const server = createServer(async (request, response) => {
  const url = new URL(request.url, "http://127.0.0.1");
  if (url.pathname === "/login") return login(url, response);
  if (!/^\/(api|dev)\//.test(url.pathname)) return file(url.pathname, response);
  if (!request.headers.cookie?.includes(key)) return problem(response, 401, "This needs a token.");
  if (url.pathname === "/api/chat/events") return subscribe(request, response);
  if (url.pathname === "/dev/missed") return missed(request, response);
  if (url.pathname === "/api/chat/send") return receive(request, response);
  // The mock answers at once.
  if (url.pathname === "/api/chat/typing") return json(response, 200, { waiting: false });
  const again = /^\/api\/chat\/turns\/([^/]+)\/retry$/.exec(url.pathname);
  if (again && request.method === "POST") return retry(decodeURIComponent(again[1]), response);
  const receipt = /^\/api\/chat\/turns\/(.+)\/receipt$/.exec(url.pathname)?.[1];
  if (receipt) {
    const found = world.receipts.get(receipt);
    return found ? json(response, 200, found) : problem(response, 404, "No receipt of this turn.");
  }
  const page = { "/api/state": state, "/api/admin/persona": persona, "/api/chat/history": history, "/api/admin/memory/timeline": timeline, "/api/admin/personas": personas, "/api/hub/status": hub, "/api/admin/work/failed": failedWork };
  const handler = page[url.pathname];
  return handler ? json(response, 200, handler(url.searchParams)) : problem(response, 404, "No such path.");
});

async function receive(request, response) {
  const body = JSON.parse(Buffer.concat(await request.toArray()).toString());
  if (body.content.includes("fast")) return problem(response, 429, "Too many requests.", { "Retry-After": "3" });
  return json(response, 202, takeMessage(body));
}

function retry(id, response) {
  const turn = world.failed.get(id);
  if (!turn) return problem(response, 404, "No failed turn of this id.");
  world.failed.delete(id);
  void answer({ ...turn, again: true });
  return json(response, 202, { ok: true, turn_id: id });
}

/** Adds a message without an event; then the stream breaks, or reports a lag. */
async function missed(request, response) {
  const { content, how } = JSON.parse(Buffer.concat(await request.toArray()).toString());
  world.session ??= { id: randomUUID() };
  keep("user", content, randomUUID(), new Date().toISOString());
  if (how === "lagged") publish("chat.connection.lagged", { missed: 1 });
  else for (const stream of subscribers) stream.destroy();
  json(response, 200, {});
}

const personas = () => ({ personas: [{ id: "default", display_name: "Echo" }], next_cursor: null });

const failedWork = () => ({ count: 0, items: [] });

const hub = () => ({ instance: "mock", serverVersion: 1, connectedInstances: [], versionVector: {}, openConflicts: 0 });

function state() {
  return {
    persona: { id: "default", display_name: "Echo", voice_enabled: false, has_voice_id: false, has_avatar: false },
    onboarding_required: true,
    session_idle_seconds: 1800,
    memory_counts: { core_blocks: 0, messages: world.messages.length, events: 0, thoughts: 0 },
    channels: [],
    llm: { provider: "offline", model: null, offline: !process.env.MOCK_ONLINE, notice: null },
  };
}

function persona() {
  return { id: "default", display_name: "Echo", core_blocks: { persona: "", user: "", style: "" }, facts: {}, episodic_state: world.mood };
}

function history(query) {
  const limit = Number(query.get("limit") ?? 50);
  const before = world.messages.findIndex((message) => message.turn_id === query.get("before"));
  const until = query.has("before") ? before : world.messages.length;
  const page = world.messages.slice(Math.max(0, until - limit), until).reverse();
  return { messages: page, has_more: until > limit, oldest_turn_id: page.at(-1)?.turn_id ?? null };
}

function timeline(query) {
  const limit = Number(query.get("limit") ?? 50);
  const since = query.get("since");
  const mood = { kind: "mood", timestamp: world.mood.updated_at, data: world.mood };
  const items = [...world.timeline, ...(world.mood.mood === "neutral" ? [] : [mood])]
    .filter((item) => !since || item.timestamp < since)
    .sort((a, b) => (a.timestamp < b.timestamp ? 1 : -1))
    .slice(0, limit);
  return { items, oldest_timestamp: items.at(-1)?.timestamp ?? null, limit };
}

function login(url, response) {
  if (url.searchParams.get("code") !== code) return problem(response, 401, "This link has been used.");
  if (!process.env.MOCK_SEED) code = null;
  response.writeHead(303, { Location: "/", "Set-Cookie": `echovessel=${key}; HttpOnly; SameSite=Strict; Path=/` }).end();
}

function file(path, response) {
  const name = path === "/" ? "index.html" : path.replaceAll("..", "");
  try {
    const body = readFileSync(join(DIST, name));
    response.writeHead(200, { ...secure(), "Content-Type": TYPES[extname(name)] ?? "application/octet-stream" }).end(body);
  } catch {
    problem(response, 404, "No such file.");
  }
}

function json(response, status, body, headers = {}) {
  response.writeHead(status, { ...secure(), "Content-Type": "application/json", ...headers }).end(JSON.stringify(body));
}

function problem(response, status, detail, headers = {}) {
  json(response, status, { type: "about:blank", title: detail, status, detail }, { "Content-Type": "application/problem+json", ...headers });
}

function secure() {
  return { "Content-Security-Policy": CSP, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer" };
}

function pause(ms) {
  return new Promise((done) => setTimeout(done, ms));
}

/** `"500ms"`, `"2s"`, `"1m"` in milliseconds. */
function duration(text) {
  const [, count, unit] = /^(\d+)(ms|s|m)$/.exec(text);
  return Number(count) * { ms: 1, s: 1000, m: 60_000 }[unit];
}

function option(name, fallback) {
  const index = process.argv.indexOf(`--${name}`);
  return index < 0 ? fallback : process.argv[index + 1];
}

server.listen(Number(option("port", "7777")), "127.0.0.1", () => {
  const { port } = server.address();
  const home = option("home", null);
  if (home) {
    mkdirSync(home, { recursive: true });
    writeFileSync(join(home, "run.json"), JSON.stringify({ pid: process.pid, port, url: `http://127.0.0.1:${port}` }));
  }
  console.log(`http://127.0.0.1:${port}/login?code=${code}`);
});
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(0));
