import { describe, expect, test } from "vitest";
import { EMPTY_CHAT_STATE, MEMORIES_MAX, MESSAGES_MAX, withEvent, withoutOldest, withHistoryPage, withPersona, withState, withTimelinePage, type ChatState } from "../src/live/chat_state";
import type { HistoryItem, ServerEvent, TimelineItem } from "../src/wire";
import { historyItem, historyPage, persona, state, timelinePage as page } from "./fixtures";

const NOW = "2026-05-02T10:00:00Z";

const event = (id: string, at: string): TimelineItem => ({
  kind: "event",
  timestamp: at,
  data: { node_id: id, type: "event", description: `event ${id}`, emotional_impact: -3 },
});
const live = (name: string, data: object) => ({ name, data }) as ServerEvent;
const played = (chat: ChatState, ...events: ServerEvent[]) => events.reduce((held, e) => withEvent(held, e, NOW), chat);

describe("the timeline", () => {
  test("adds new memories newest first, and recognises them on the next page", () => {
    let chat = withTimelinePage(EMPTY_CHAT_STATE, page([event("e1", "2026-05-02T08:00:00Z")]), false);
    chat = played(
      chat,
      live("memory.event.created", { event_id: "e2", description: "小黑", emotional_impact: 4, created_at: "2026-05-02T09:00:00Z" }),
      live("memory.thought.created", { thought_id: "n3", type: "expectation", description: "soon", created_at: "2026-05-02T09:01:00Z" }),
      live("memory.entity.confirmed", { entity_id: "x", canonical_name: "小黑", kind: "pet", merge_status: "confirmed", created_at: "2026-05-02T09:02:00Z" }),
    );
    expect(chat.memories.map((m) => [m.key, m.impact, m.fresh])).toEqual([
      ["entity:x", null, true],
      ["node:n3", null, true],
      ["node:e2", 4, true],
      ["node:e1", -3, false],
    ]);
    const again = withTimelinePage(chat, page([event("e2", "2026-05-02T09:00:00Z"), event("e1", "2026-05-02T08:00:00Z")]), false);
    expect(again.memories.map((m) => [m.key, m.fresh])).toEqual([
      ["node:e2", true],
      ["node:e1", false],
    ]);
  });

  test("an entity that is mentioned again moves and is not duplicated", () => {
    const confirmed = (at: string) => live("memory.entity.confirmed", { entity_id: "x", canonical_name: "小黑", kind: "pet", merge_status: "confirmed", created_at: at });
    const chat = played(EMPTY_CHAT_STATE, confirmed("2026-05-01T00:00:00Z"), confirmed("2026-05-02T00:00:00Z"));
    expect(chat.memories).toHaveLength(1);
    expect(chat.memories[0]?.at).toBe("2026-05-02T00:00:00Z");
  });

  test("forgotten memories leave with the next page, older pages stay", () => {
    const loaded = ["e3", "e2", "e1"].map((id, i) => event(id, `2026-05-0${4 - i}T08:00:00Z`));
    const chat = withTimelinePage(EMPTY_CHAT_STATE, page(loaded), false);
    const after = withTimelinePage(chat, page([loaded[0]!, { ...event("e9", "2026-05-03T07:00:00Z") }]), false);
    expect(after.memories.map((m) => m.key)).toEqual(["node:e3", "node:e9", "node:e1"]);
  });

  test("an unknown kind is left out", () => {
    const chat = withTimelinePage(EMPTY_CHAT_STATE, page([{ kind: "weather", timestamp: NOW, data: {} }]), false);
    expect(chat.memories).toEqual([]);
  });
});

test("a mood update changes the header and one timeline row", () => {
  const chat = played(EMPTY_CHAT_STATE, live("chat.mood.update", { mood_summary: "{…}", mood: "warm", energy: 6, updated_at: NOW }));
  expect(chat.mood).toMatchObject({ mood: "warm", energy: 6 });
  expect(chat.memories).toMatchObject([{ kind: "mood", text: "warm", energy: 6 }]);
});

test("a closed session is known from the stream and from the timeline", () => {
  const chat = played(EMPTY_CHAT_STATE, live("chat.session.boundary", { closed_session_id: "s1", new_session_id: null, at: NOW, events_count: 2, thoughts_count: 1 }));
  expect(chat.closings.get("s1")).toEqual({ at: NOW, events: 2, thoughts: 1 });
  const closed: TimelineItem = { kind: "session_close", timestamp: NOW, data: { session_id: "s2", events_count: 1, thoughts_count: 0 } };
  expect(withTimelinePage(chat, page([closed]), false).closings.get("s2")).toEqual({ at: NOW, events: 1, thoughts: 0 });
});

test("an ended session gets its divider before consolidation, and its counts after", () => {
  const quiet = live("chat.session.boundary", { closed_session_id: "s1", new_session_id: null, at: NOW });
  const before = played(EMPTY_CHAT_STATE, quiet);
  expect(before.closings.get("s1")).toEqual({ at: NOW, events: 0, thoughts: 0 });
  expect(before.memories).toEqual([]);
  const remembered = live("chat.session.boundary", { closed_session_id: "s1", new_session_id: null, at: NOW, events_count: 2, thoughts_count: 0 });
  const after = played(before, remembered, quiet);
  expect(after.closings.get("s1")).toEqual({ at: NOW, events: 2, thoughts: 0 });
  expect(after.memories).toMatchObject([{ kind: "session_close", counts: { events: 2, thoughts: 0 } }]);
});

test("another user's or persona's events are not this chat's", () => {
  const here = withPersona(EMPTY_CHAT_STATE, persona("default", "Echo"));
  const said = (more: object) => live("chat.message.user_appended", { content: "hi", turn_id: "t", message_id: "m", ...more });
  expect(played(here, said({ user_id: "mei" }))).toBe(here);
  expect(played(here, said({ persona_id: "other", user_id: "self" }))).toBe(here);
  expect(played(here, said({ persona_id: "default", user_id: "self" })).messages).toHaveLength(1);
});

test("the offline provider is announced, a language model is not", () => {
  const offline = withState(EMPTY_CHAT_STATE, state({ provider: "offline", model: null, offline: true }));
  expect(offline.offline).toEqual({ notice: null });
  expect(withState(offline, state({})).offline).toBeNull();
});

describe("paging", () => {
  const message = (n: number) =>
    historyItem({
      id: `m${n}`,
      turn_id: `t${n}`,
      content: `${n}`,
      created_at: new Date(Date.UTC(2026, 4, 1) + n * 1000).toISOString(),
    });
  const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => message(to - i));
  const history = (from: number, to: number, more: boolean) =>
    historyPage(range(from, to), { has_more: more, oldest_turn_id: `t${from}` });

  test("continues from the oldest turn, or from the server's cursor", () => {
    const first = withHistoryPage(EMPTY_CHAT_STATE, history(5, 8, true), false);
    expect(first.earlierMessages).toEqual({ name: "before", value: "t5" });
    const second = withHistoryPage(first, { ...history(1, 4, true), next_cursor: "c" }, true);
    expect(second.earlierMessages).toEqual({ name: "cursor", value: "c" });
    expect(second.messages.map((m) => m.text)).toEqual(["1", "2", "3", "4", "5", "6", "7", "8"]);
    expect(withHistoryPage(second, history(0, 0, false), true).earlierMessages).toBeNull();
  });

  test("a refresh keeps the position of a reader who has paged back", () => {
    const all = withHistoryPage(withHistoryPage(EMPTY_CHAT_STATE, history(5, 8, true), false), history(1, 4, false), true);
    const refreshed = withHistoryPage(all, history(6, 9, true), false);
    expect(refreshed.earlierMessages).toBeNull();
    expect(refreshed.messages).toHaveLength(9);
  });

  test("a refresh that does not reach the shown messages starts again, without a gap", () => {
    const chat = withHistoryPage(EMPTY_CHAT_STATE, history(1, 4, false), false);
    const refreshed = withHistoryPage(chat, history(90, 93, true), false);
    expect(refreshed.messages.map((m) => m.text)).toEqual(["90", "91", "92", "93"]);
    expect(refreshed.earlierMessages).toEqual({ name: "before", value: "t90" });
  });
});

const said = (id: string, role: "user" | "persona", turn_id: string, content: string) =>
  historyItem({ id, role, turn_id, content, created_at: role === "user" ? "2026-05-02T09:00:00Z" : "2026-05-02T09:00:01Z" });
const pageOf = (...messages: HistoryItem[]) => historyPage(messages.reverse());

test("a regenerated reply replaces the old one once it is complete", () => {
  let chat = withHistoryPage(EMPTY_CHAT_STATE, pageOf(said("u", "user", "t", "hi"), said("old", "persona", "t", "one")), false);
  chat = played(chat, live("chat.message.typing_started", { turn_id: "t" }), live("chat.message.token", { turn_id: "t", delta: "tw" }));
  expect(chat.messages.map((m) => [m.text, m.delivery])).toEqual([["hi", "kept"], ["one", "kept"], ["tw", "streaming"]]);
  chat = played(
    chat,
    live("chat.message.deleted", { message_id: "old", turn_id: "t" }),
    live("chat.message.done", { message_id: "t", stored_message_id: "new", turn_id: "t", content: "two" }),
  );
  expect(chat.messages.map((m) => [m.id, m.text])).toEqual([["u", "hi"], ["new", "two"]]);
});

test("repeated tokens of a complete reply change nothing", () => {
  const chat = withHistoryPage(EMPTY_CHAT_STATE, pageOf(said("u", "user", "t", "hi"), said("r", "persona", "t", "one")), false);
  expect(played(chat, live("chat.message.token", { turn_id: "t", delta: "one" })).messages).toEqual(chat.messages);
});

test("an edit changes the message in place", () => {
  const chat = withHistoryPage(EMPTY_CHAT_STATE, pageOf(said("u", "user", "t", "hi")), false);
  expect(played(chat, live("chat.message.edited", { message_id: "u", content: "hello" })).messages[0]?.text).toBe("hello");
});

test("forgotten messages and memories disappear at once", () => {
  let chat = withHistoryPage(EMPTY_CHAT_STATE, pageOf(said("u", "user", "t", "hi"), said("r", "persona", "t", "one")), false);
  chat = withTimelinePage(chat, page([event("e1", NOW), event("e2", NOW)]), false);
  chat = played(chat, live("memory.forgotten", { message_ids: ["u"], event_ids: ["e1"], all: false }));
  expect(chat.messages.map((m) => m.id)).toEqual(["r"]);
  expect(chat.memories.map((m) => m.key)).toEqual(["node:e2"]);
  expect(played(chat, live("memory.forgotten", { all: true })).messages).toEqual([]);
});

test("messages missing from the newest page are removed, newer ones stay", () => {
  let chat = withHistoryPage(EMPTY_CHAT_STATE, pageOf(said("a", "user", "1", "a"), said("b", "user", "2", "b")), false);
  const asked = new Set(["a", "b"]);
  chat = played(chat, live("chat.message.user_appended", { message_id: "c", content: "c", received_at: NOW }));
  chat = withHistoryPage(chat, pageOf(said("b", "user", "2", "b")), false, asked);
  expect(chat.messages.map((m) => m.id)).toEqual(["b", "c"]);
});

test("a corrected memory shows its new text", () => {
  let chat = withTimelinePage(EMPTY_CHAT_STATE, page([event("e1", NOW)]), false);
  chat = played(chat, live("memory.node.updated", { node_id: "e1", type: "event", description: "right", pinned: false, change: "correction" }));
  expect(chat.memories[0]?.text).toBe("right");
});

test("after 10,000 events the state is within its limits and knows where older messages continue", () => {
  let chat = EMPTY_CHAT_STATE;
  for (let n = 0; n < 5_000; n++) {
    const at = new Date(Date.parse(NOW) + n * 1_000).toISOString();
    chat = played(
      chat,
      live("chat.message.user_appended", { message_id: `m${n}`, content: "x", received_at: at }),
      live("memory.event.created", { event_id: `e${n}`, description: "x", emotional_impact: 1, created_at: at }),
    );
    if (n % 16 === 0) chat = withoutOldest(chat);
  }
  chat = withoutOldest(chat);
  expect(chat.messages.length).toBeLessThanOrEqual(MESSAGES_MAX * 1.5);
  expect(chat.messages.at(-1)?.id).toBe("m4999");
  expect(chat.earlierMessages).toEqual({ name: "before", value: chat.messages[0]?.id });
  expect(chat.memories.length).toBeLessThanOrEqual(MEMORIES_MAX);
});

test("of 5,000 ended sessions the newest are kept", () => {
  let chat = EMPTY_CHAT_STATE;
  for (let n = 0; n < 5_000; n++) {
    chat = played(chat, live("chat.session.boundary", { closed_session_id: `s${n}`, new_session_id: null, at: NOW, events_count: 1 }));
  }
  expect(chat.closings.size).toBeLessThanOrEqual(4_000);
  expect(chat.closings.get("s4999")).toEqual({ at: NOW, events: 1, thoughts: 0 });
}, 30_000);
