// The event stream of the daemon: in order, each event once, resumed where it broke off, and never more than
// EVENTS_WAITING_MAX waiting for the page.

import { EVENT_NAMES, type EventName, type ServerEvent } from "../wire";

/** What waits when the page is too busy, or asleep, is let go beyond this; then the page fetches anew. */
export const EVENTS_WAITING_MAX = 10_000;
/** Events that come together are taken together: many tokens make one redraw. */
const GATHER_MS = 16;
const RECONNECT_MS_MIN = 1_000;
const RECONNECT_MS_MAX = 30_000;

export type StreamState = "open" | "lost";

/** The part of the browser's EventSource that is used here. */
export interface EventSourceLike {
  readonly readyState: number;
  onopen: ((event: Event) => void) | null;
  onerror: ((event: Event) => void) | null;
  addEventListener(name: string, listener: (event: MessageEvent<string>) => void): void;
  close(): void;
}

export interface StreamParts {
  open(url: string): EventSourceLike;
  setTimer(run: () => void, ms: number): unknown;
  /** Events in the order of the daemon, each once. */
  onEvents(events: ServerEvent[]): void;
  onStateChange(state: StreamState): void;
  /** The stream was refused or broken for good: the owner asks why and starts it again. */
  onRejected(): void;
}

export class EventStream {
  #parts: StreamParts;
  #source: EventSourceLike | null = null;
  #waiting: ServerEvent[] = [];
  #gathering = false;
  #place: { run: string; number: number } | null = null;
  #lastId = "";
  #reconnectMs = RECONNECT_MS_MIN;

  constructor(parts: StreamParts) {
    this.#parts = parts;
  }

  start(): void {
    this.stop();
    // A new EventSource cannot send Last-Event-ID; the address says it instead.
    const query = this.#lastId ? `?last_event_id=${encodeURIComponent(this.#lastId)}` : "";
    const source = this.#parts.open(`/api/chat/events${query}`);
    this.#source = source;
    source.onopen = () => {
      this.#reconnectMs = RECONNECT_MS_MIN;
      this.#parts.onStateChange("open");
    };
    source.onerror = () => {
      if (this.#source !== source) return;
      this.#parts.onStateChange("lost");
      // The browser reconnects by itself, with Last-Event-ID, unless the answer was not a stream.
      if (source.readyState === EVENT_SOURCE_CLOSED) this.retryLater();
    };
    for (const name of EVENT_NAMES) {
      source.addEventListener(name, (event) => {
        if (this.#source === source) this.#receive(name, event.data, event.lastEventId);
      });
    }
  }

  stop(): void {
    this.#source?.close();
    this.#source = null;
  }

  /** Waits longer each time, up to half a minute. */
  retryLater(): void {
    this.stop();
    this.#parts.setTimer(() => this.#parts.onRejected(), this.#reconnectMs);
    this.#reconnectMs = Math.min(this.#reconnectMs * 2, RECONNECT_MS_MAX);
  }

  #receive(name: EventName, text: string, id: string): void {
    if (!this.#isNew(name, id)) return;
    const event = parsed(name, text);
    if (!event) return;
    if (this.#waiting.length >= EVENTS_WAITING_MAX) {
      this.#waiting = [{ name: "chat.connection.lagged", data: {} }];
    }
    this.#waiting.push(event);
    if (!this.#gathering) this.#flush();
  }

  /** The first event is taken at once, what follows close upon it in one go. */
  #flush(): void {
    const events = this.#waiting;
    this.#waiting = [];
    this.#gathering = events.length > 0;
    if (!this.#gathering) return;
    this.#parts.setTimer(() => this.#flush(), GATHER_MS);
    this.#parts.onEvents(events);
  }

  /** Ids are `<run>-<number>`: within a run they only grow; another run starts anew. */
  #isNew(name: EventName, id: string): boolean {
    const cut = id.lastIndexOf("-");
    const number = Number(id.slice(cut + 1));
    if (!id || id === this.#lastId) return !id || name.startsWith("chat.connection.");
    const run = id.slice(0, Math.max(cut, 0));
    const known = Number.isFinite(number) && this.#place?.run === run && number <= this.#place.number;
    if (!known) {
      this.#lastId = id;
      this.#place = Number.isFinite(number) ? { run, number } : null;
    }
    return !known || name.startsWith("chat.connection.");
  }
}

/** `EventSource.CLOSED`, which is not there outside a browser. */
const EVENT_SOURCE_CLOSED = 2;

/** Null for a frame that is no JSON object: one bad frame must not end the stream. */
function parsed(name: EventName, text: string): ServerEvent | null {
  try {
    const data: unknown = JSON.parse(text);
    return typeof data === "object" && data !== null ? ({ name, data } as ServerEvent) : null;
  } catch {
    return null;
  }
}
