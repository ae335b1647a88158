// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { live as Live } from "../src/live/live.svelte";
import { MEMORIES_MAX, MESSAGES_MAX } from "../src/live/chat_state";
import { historyItem, historyPage } from "./fixtures";

/** The daemon's stream, as the browser would give it. */
class Source {
  static last: Source;
  readyState = 1;
  onopen: (() => void) | null = null;
  onerror: (() => void) | null = null;
  #listeners = new Map<string, (event: MessageEvent<string>) => void>();
  constructor() {
    Source.last = this;
  }
  addEventListener(name: string, listener: (event: MessageEvent<string>) => void) {
    this.#listeners.set(name, listener);
  }
  close() {}
  tell(number: number, name: string, data: object) {
    const event = { data: JSON.stringify(data), lastEventId: `run-${number}` } as MessageEvent<string>;
    this.#listeners.get(name)?.(event);
  }
}

/** Many events on a machine that does much else. */
vi.setConfig({ testTimeout: 60_000 });

let live: typeof Live;

beforeEach(async () => {
  vi.useFakeTimers();
  vi.doMock("../src/live/fetch_event_source", () => ({ FetchEventSource: Source }));
  const answer = { persona: { id: "p", display_name: "Echo" }, messages: [], items: [], has_more: false, oldest_turn_id: null };
  vi.stubGlobal("fetch", async () => new Response(JSON.stringify(answer)));
  vi.resetModules();
  ({ live } = await import("../src/live/live.svelte"));
  await live.start();
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

/** Half of them words, half of them memories, in bursts as a busy day brings them. */
async function happen(events: number) {
  const began = Date.parse("2026-03-01T00:00:00Z");
  for (let n = 0; n < events / 2; n++) {
    const at = new Date(began + n * 1_000).toISOString();
    Source.last.tell(n * 2, "chat.message.user_appended", { message_id: `m${n}`, content: "x", received_at: at });
    Source.last.tell(n * 2 + 1, "memory.event.created", { event_id: `e${n}`, description: "x", emotional_impact: 1, created_at: at });
    if (n % 20 === 0) await vi.advanceTimersByTimeAsync(20);
  }
  await vi.advanceTimersByTimeAsync(50);
}

const expectBounded = () => {
  expect(live.chat.messages.at(-1)?.id).toBe("m4999");
  expect(live.chat.messages.length).toBeLessThanOrEqual(MESSAGES_MAX * 1.5);
  expect(live.chat.memories.length).toBeLessThanOrEqual(MEMORIES_MAX);
};

test("a page at the end of the conversation does not grow in 10,000 events", async () => {
  live.setAtEnd(true);
  await happen(10_000);
  expectBounded();
});

test("a page in a hidden tab does not grow", async () => {
  live.setAtEnd(true);
  vi.spyOn(document, "hidden", "get").mockReturnValue(true);
  await happen(10_000);
  expectBounded();
});

test("a chat screen that was left while scrolled up does not grow", async () => {
  live.setAtEnd(false);
  live.stopReading();
  await happen(10_000);
  expectBounded();
});

test("an announced conflict is counted at once", async () => {
  const status = { openConflicts: 2 };
  vi.stubGlobal("fetch", async () => new Response(JSON.stringify(status)));
  const before = live.memoryVersion;
  Source.last.tell(1, "sync.conflict", { conflict_id: "c", kind: "custom", filename: "garden.md" });
  await vi.advanceTimersByTimeAsync(50);
  expect(live.conflicts).toBe(2);
  expect(live.memoryVersion).toBeGreaterThan(before);
});

test("a reply during another screen is unread until the reader returns", async () => {
  const reply = (number: number) =>
    Source.last.tell(number, "chat.message.done", { message_id: `r${number}`, turn_id: `t${number}`, content: "x" });
  live.setAtEnd(true);
  reply(1);
  await vi.advanceTimersByTimeAsync(50);
  expect(live.unread).toBe(0);
  live.stopReading();
  reply(2);
  await vi.advanceTimersByTimeAsync(50);
  expect(live.unread).toBe(1);
  live.setAtEnd(true);
  expect(live.unread).toBe(0);
});

/** A daemon whose answers wait until the test gives them. */
function slowDaemon() {
  const waiting: { path: string; give: (answer: object) => void }[] = [];
  vi.stubGlobal("fetch", (path: string) =>
    new Promise((done) => waiting.push({ path, give: (answer) => done(new Response(JSON.stringify(answer))) })),
  );
  const none = { persona: { id: "p", display_name: "Echo" }, items: [], messages: [], has_more: false, openConflicts: 0 };
  return {
    /** Answers what was asked of a path, or nothing. */
    answer: async (path: string, answer: object = none) => {
      await vi.advanceTimersByTimeAsync(20);
      const index = waiting.findIndex((request) => request.path.startsWith(path));
      waiting.splice(index, index < 0 ? 0 : 1)[0]?.give(answer);
      await vi.advanceTimersByTimeAsync(20);
      return index >= 0;
    },
  };
}

const HISTORY = "/api/chat/history";
const line = (n: number, content = `words ${n}`) =>
  historyItem({ id: `m${n}`, turn_id: `t${n}`, content, created_at: new Date(Date.UTC(2026, 2, 1) + n * 1_000).toISOString() });
/** Messages from `from` to `to`, the newest first; there are earlier ones. */
const lines = (from: number, to: number) =>
  historyPage(Array.from({ length: to - from + 1 }, (_, n) => line(to - n)), { has_more: from > 0, next_cursor: `before ${from}` });
const held = () => live.chat.messages.map((m) => m.id);

/** The page shows these messages at the end of the talk. */
async function reads(from: number, to: number) {
  const daemon = slowDaemon();
  void live.refresh();
  for (const path of [HISTORY, "/api/state", "/api/admin/persona", "/api/admin/memory/timeline", "/api/hub", "/api/admin/work"]) {
    await daemon.answer(path, path === HISTORY ? lines(from, to) : undefined);
  }
  return daemon;
}

test("an earlier page that arrives after a reset brings nothing back", async () => {
  const { answer } = await reads(100, 150);
  const asked = live.loadEarlierMessages();
  Source.last.tell(1, "memory.forgotten", { all: true });
  await answer(HISTORY, lines(50, 99));
  expect(held()).toEqual([]);
  await answer(HISTORY, historyPage([]));
  await asked;
  expect(live.loadingEarlier).toBe(false);
});

test("an earlier page is requested again after a deletion", async () => {
  const { answer } = await reads(100, 150);
  const asked = live.loadEarlierMessages();
  Source.last.tell(1, "chat.message.deleted", { message_id: "m60" });
  await answer(HISTORY, lines(50, 99));
  expect(held()).not.toContain("m60");
  const after = lines(50, 99);
  expect(await answer(HISTORY, { ...after, messages: after.messages.filter(({ id }) => id !== "m60") })).toBe(true);
  await asked;
  expect(held()).toContain("m61");
  expect(held()).not.toContain("m60");
});

test("an earlier page leaves no gap when the list was trimmed", async () => {
  const { answer } = await reads(10_000, 10_050);
  for (let from = 9_800; from > 6_800; from -= 200) {
    const asked = live.loadEarlierMessages();
    await answer(HISTORY, lines(from, from + 199));
    await asked;
  }
  const before = live.chat.messages.length;
  expect(before).toBeGreaterThan(MESSAGES_MAX * 1.5);
  const asked = live.loadEarlierMessages();
  live.setAtEnd(true);
  await answer(HISTORY, lines(6_600, 6_799));
  await asked;
  expect(live.chat.messages.length).toBe(MESSAGES_MAX);
  expect(live.chat.messages[0]?.id).toBe(`m${10_050 - MESSAGES_MAX + 1}`);
  expect(live.chat.earlierMessages).toEqual({ name: "before", value: live.chat.messages[0]?.id });
});

test("a message far back is found while new messages arrive", async () => {
  live.setAtEnd(true);
  const { answer } = await reads(10_000, 10_050);
  const found = live.scrollToMessage("m5001");
  let from = 9_800;
  for (; await answer(HISTORY, lines(from, from + 199)); from -= 200) {
    Source.last.tell(20_000 - from, "chat.message.user_appended", { message_id: `n${from}`, content: "x" });
  }
  expect(await found).toBe(true);
  // The conversation comes on the screen at its end, and goes there.
  live.setAtEnd(true);
  expect(held()).toContain("m5001");
  expect(live.scrollTarget).toBe("m5001");
});

test("text deleted during a refresh stays deleted", async () => {
  const { answer } = await reads(0, 5);
  void live.refresh();
  await answer("/api/state");
  Source.last.tell(1, "chat.message.deleted", { message_id: "m3" });
  Source.last.tell(2, "chat.message.edited", { message_id: "m4", content: "other words" });
  await answer(HISTORY, lines(0, 5));
  expect(held()).not.toContain("m3");
  expect(live.chat.messages.find((m) => m.id === "m4")?.text).toBe("other words");
  for (const path of ["/api/admin/persona", "/api/admin/memory/timeline", "/api/hub", "/api/admin/work"]) await answer(path);
  const after = [line(5), line(4, "other words"), line(2), line(1), line(0)];
  expect(await answer(HISTORY, historyPage(after)), "it is asked for once more").toBe(true);
  expect(held()).toEqual(["m0", "m1", "m2", "m4", "m5"]);
});

test("a memory that forms during a refresh is not lost", async () => {
  const { answer } = await reads(0, 5);
  void live.refresh();
  await answer("/api/state");
  Source.last.tell(1, "memory.event.created", { event_id: "new", description: "x", emotional_impact: 1, created_at: "2026-05-02T10:00:02Z" });
  const old = { kind: "event", timestamp: "2026-05-02T10:00:01Z", data: { node_id: "old", description: "y" } };
  await answer("/api/admin/memory/timeline", { items: [old], limit: 50, oldest_timestamp: old.timestamp, next_cursor: null });
  expect(live.chat.memories.map((m) => m.key)).toEqual(["node:new", "node:old"]);
});

test("the persona's picture is reloaded after a disconnect", async () => {
  Source.last.onopen?.();
  const before = live.avatarVersion;
  Source.last.onopen?.();
  expect(live.avatarVersion).toBe(before);
  Source.last.onerror?.();
  Source.last.onopen?.();
  expect(live.avatarVersion).toBe(before + 1);
  Source.last.tell(1, "chat.connection.lagged", {});
  await vi.advanceTimersByTimeAsync(20);
  expect(live.avatarVersion).toBe(before + 2);
});

/** The daemon is away: requests fail until it answers again. */
async function away() {
  vi.stubGlobal("fetch", async () => {
    throw new TypeError("connection refused");
  });
  Source.last.readyState = 2;
  Source.last.onerror?.();
  await vi.advanceTimersByTimeAsync(20);
}

/** It answers again; gives what was sent since. */
async function back(): Promise<string[]> {
  const sent: string[] = [];
  vi.stubGlobal("fetch", async (path: string, init?: RequestInit) => {
    if (path === "/api/chat/send") sent.push((JSON.parse(String(init?.body)) as { content: string }).content);
    const answer = { persona: { id: "p", display_name: "Echo" }, items: [], messages: [], accepted: [`m${sent.length}`], turn_id: "t" };
    return new Response(JSON.stringify(answer), { status: path === "/api/chat/send" ? 202 : 200 });
  });
  await vi.advanceTimersByTimeAsync(60_000);
  Source.last.onopen?.();
  await vi.advanceTimersByTimeAsync(100);
  return sent;
}

test("what could not be sent goes once, in order, when the connection is back", async () => {
  await away();
  await live.send("first");
  await live.send("second");
  expect(live.chat.messages.map((m) => m.delivery)).toEqual(["unsent", "unsent"]);
  expect(await back()).toEqual(["first", "second"]);
  expect(await back()).toEqual([]);
});

test("from the first moment a message waits for its reply, and several wait together", async () => {
  await back();
  await live.send("one");
  expect(live.awaiting).toBe(1);
  await live.send("two");
  expect(live.awaiting).toBe(2);
  Source.last.tell(5, "chat.message.typing_started", { turn_id: "t" });
  await vi.advanceTimersByTimeAsync(50);
  expect(live.awaiting).toBe(0);
});
