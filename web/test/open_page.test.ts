// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { live as Live } from "../src/live/live.svelte";
import { MEMORIES_MAX, MESSAGES_MAX } from "../src/live/room";

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
  vi.stubGlobal("EventSource", Source);
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
  expect(live.room.messages.at(-1)?.id).toBe("m4999");
  expect(live.room.messages.length).toBeLessThanOrEqual(MESSAGES_MAX * 1.5);
  expect(live.room.memories.length).toBeLessThanOrEqual(MEMORIES_MAX);
};

test("a page that is read at its end does not grow in 10,000 events", async () => {
  live.looks(true);
  await happen(10_000);
  expectBounded();
});

test("nor does one in a tab that nobody looks at", async () => {
  live.looks(true);
  vi.spyOn(document, "hidden", "get").mockReturnValue(true);
  await happen(10_000);
  expectBounded();
});

test("nor one that was left for another screen while one read far up", async () => {
  live.looks(false);
  live.leaves();
  await happen(10_000);
  expectBounded();
});

test("a conflict that the daemon tells of is counted at once", async () => {
  const status = { openConflicts: 2 };
  vi.stubGlobal("fetch", async () => new Response(JSON.stringify(status)));
  const before = live.memoryVersion;
  Source.last.tell(1, "sync.conflict", { conflict_id: "c", kind: "custom", filename: "garden.md" });
  await vi.advanceTimersByTimeAsync(50);
  expect(live.conflicts).toBe(2);
  expect(live.memoryVersion).toBeGreaterThan(before);
});

test("a reply that comes while one is on another screen is unread until one comes back", async () => {
  const reply = (number: number) =>
    Source.last.tell(number, "chat.message.done", { message_id: `r${number}`, turn_id: `t${number}`, content: "x" });
  live.looks(true);
  reply(1);
  await vi.advanceTimersByTimeAsync(50);
  expect(live.unread).toBe(0);
  live.leaves();
  reply(2);
  await vi.advanceTimersByTimeAsync(50);
  expect(live.unread).toBe(1);
  live.looks(true);
  expect(live.unread).toBe(0);
});
