// The server's event stream: in order, each event once, resumed after a disconnect, with at most EVENTS_WAITING_MAX
// events queued.

import { EVENT_NAMES, type EventName, type ServerEvent } from "../wire";

/** Beyond this, queued events are dropped and the page fetches everything again. */
export const EVENTS_WAITING_MAX = 10_000;
/** Events within this time are handled together, so that many tokens cause one redraw. */
const GATHER_MS = 16;
const RECONNECT_MS_MIN = 1_000;
const RECONNECT_MS_MAX = 30_000;

export type StreamState = "open" | "lost";

/** The part of the browser's EventSource that is used here. A source that is closed does not connect again. */
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
  /** Events in the server's order, each once. */
  onEvents(events: ServerEvent[]): void;
  onStateChange(state: StreamState): void;
  /** The stream was rejected or closed; the caller finds out why and starts it again. */
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
    const event = parseEvent(name, text);
    if (!event) return;
    if (this.#waiting.length >= EVENTS_WAITING_MAX) {
      this.#waiting = [{ name: "chat.connection.lagged", data: {} }];
    }
    this.#waiting.push(event);
    if (!this.#gathering) this.#flush();
  }

  /** The first event is handled at once, those that follow within GATHER_MS together. */
  #flush(): void {
    const events = this.#waiting;
    this.#waiting = [];
    this.#gathering = events.length > 0;
    if (!this.#gathering) return;
    this.#parts.setTimer(() => this.#flush(), GATHER_MS);
    this.#parts.onEvents(events);
  }

  /** Ids are `<run>-<number>`, growing within a run; each run starts again. */
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

/** `EventSource.CLOSED`, which does not exist outside a browser. */
export const EVENT_SOURCE_CLOSED = 2;

/** Null for a frame that is not a JSON object: one bad frame must not end the stream. */
function parseEvent(name: EventName, text: string): ServerEvent | null {
  try {
    const data: unknown = JSON.parse(text);
    return typeof data === "object" && data !== null ? ({ name, data } as ServerEvent) : null;
  } catch {
    return null;
  }
}
