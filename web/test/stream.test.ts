import { beforeEach, describe, expect, test } from "vitest";
import { EventStream, EVENTS_WAITING_MAX, type EventSourceLike, type StreamState } from "../src/live/stream";
import type { ServerEvent } from "../src/wire";

/** A stream whose connection and clock are the test's. */
class World {
  sources: FakeSource[] = [];
  taken: ServerEvent[] = [];
  batches: number[] = [];
  states: StreamState[] = [];
  refusals = 0;
  waits: { run: () => void; ms: number }[] = [];
  stream = new EventStream({
    open: (url) => {
      const source = new FakeSource(url);
      this.sources.push(source);
      return source;
    },
    setTimer: (run, ms) => this.waits.push({ run, ms }),
    onEvents: (events) => {
      this.taken.push(...events);
      this.batches.push(events.length);
    },
    onStateChange: (state) => this.states.push(state),
    onRejected: () => (this.refusals += 1),
  });

  get source(): FakeSource {
    return this.sources[this.sources.length - 1]!;
  }

  /** Lets all that waits happen, until nothing waits. */
  settle(): void {
    while (this.waits.length) this.waits.shift()!.run();
  }

  get deltas(): string[] {
    return this.taken.map((event) => (event.name === "chat.message.token" ? event.data.delta : event.name));
  }
}

class FakeSource implements EventSourceLike {
  readyState = 1;
  onopen: ((event: Event) => void) | null = null;
  onerror: ((event: Event) => void) | null = null;
  closed = false;
  #listeners = new Map<string, (event: MessageEvent<string>) => void>();

  constructor(readonly url: string) {}

  addEventListener(name: string, listener: (event: MessageEvent<string>) => void): void {
    this.#listeners.set(name, listener);
  }

  close(): void {
    this.closed = true;
  }

  tell(name: string, data: string, lastEventId = ""): void {
    this.#listeners.get(name)?.({ data, lastEventId } as MessageEvent<string>);
  }

  token(delta: string, id: string): void {
    this.tell("chat.message.token", JSON.stringify({ delta, turn_id: "t" }), id);
  }
}

let world: World;
beforeEach(() => {
  world = new World();
  world.stream.start();
});

describe("the event stream", () => {
  test("keeps the order, handles the first event at once and those that follow together", () => {
    for (let n = 1; n <= 5; n++) world.source.token(`${n}`, `run-${n}`);
    expect(world.deltas).toEqual(["1"]);
    world.settle();
    expect(world.deltas).toEqual(["1", "2", "3", "4", "5"]);
    expect(world.batches).toEqual([1, 4]);
  });

  test("handles a repeated event once", () => {
    for (const id of ["run-1", "run-2", "run-2", "run-1", "run-3"]) world.source.token(id, id);
    world.settle();
    expect(world.deltas).toEqual(["run-1", "run-2", "run-3"]);
  });

  test("resumes where it was, without repeating events", () => {
    world.source.token("a", "run-7");
    world.source.readyState = 2;
    world.source.onerror?.({} as Event);
    world.settle();
    expect(world.refusals).toBe(1);
    world.stream.start();
    expect(world.source.url).toBe("/api/chat/events?last_event_id=run-7");
    world.source.token("a", "run-7");
    world.source.token("b", "run-8");
    world.settle();
    expect(world.deltas).toEqual(["a", "b"]);
  });

  test("resumes from the id of the first frame", () => {
    world.source.tell("chat.connection.ready", "{}", "run-40");
    world.stream.start();
    expect(world.source.url).toContain("last_event_id=run-40");
    world.source.token("41", "run-41");
    world.settle();
    expect(world.deltas).toEqual(["chat.connection.ready", "41"]);
  });

  test("accepts ids that start again after a restart of the server", () => {
    world.source.token("old", "first-900");
    world.source.token("new", "second-1");
    world.settle();
    expect(world.deltas).toEqual(["old", "new"]);
  });

  test("handles every heartbeat and the lag notice, which have no id of their own", () => {
    world.source.token("a", "run-1");
    world.source.tell("chat.connection.lagged", "{}", "run-1");
    world.source.tell("chat.connection.heartbeat", "{}", "run-1");
    world.source.tell("chat.connection.heartbeat", "{}", "run-1");
    world.settle();
    expect(world.deltas.slice(1)).toEqual([
      "chat.connection.lagged",
      "chat.connection.heartbeat",
      "chat.connection.heartbeat",
    ]);
  });

  test("queues a bounded number of events while the page sleeps, and reports the loss", () => {
    const count = EVENTS_WAITING_MAX * 2 + 10;
    for (let n = 1; n <= count; n++) world.source.token(`${n}`, `run-${n}`);
    world.settle();
    expect(world.taken.length).toBeLessThanOrEqual(EVENTS_WAITING_MAX + 1);
    expect(world.deltas).toContain("chat.connection.lagged");
    expect(world.deltas[world.deltas.length - 1]).toBe(`${count}`);
  });

  test("is not ended by a damaged frame", () => {
    world.source.tell("chat.message.token", "{broken", "run-1");
    world.source.tell("chat.message.token", "null", "run-2");
    world.source.token("whole", "run-3");
    world.settle();
    expect(world.deltas).toEqual(["whole"]);
  });

  test("waits longer after each rejection, and resets the wait once it is open", () => {
    const refuse = () => {
      world.stream.start();
      world.source.readyState = 2;
      world.source.onerror?.({} as Event);
      return world.waits.pop()!.ms;
    };
    expect([refuse(), refuse(), refuse()]).toEqual([1_000, 2_000, 4_000]);
    for (let tries = 0; tries < 10; tries++) refuse();
    expect(refuse()).toBe(30_000);
    world.stream.start();
    world.source.onopen?.({} as Event);
    expect(refuse()).toBe(1_000);
  });

  test("ignores an abandoned connection", () => {
    const old = world.source;
    world.stream.start();
    old.token("late", "run-1");
    world.settle();
    expect(old.closed).toBe(true);
    expect(world.taken).toEqual([]);
  });
});
