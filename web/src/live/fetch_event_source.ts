// An event stream over fetch: the browser's EventSource can't send the page's key of the login.

import { EventSourceParserStream } from "eventsource-parser/stream";
import { openStream } from "../api";
import { EVENT_SOURCE_CLOSED, type EventSourceLike } from "./stream";

const CONNECTING = 0;
const OPEN = 1;

export class FetchEventSource implements EventSourceLike {
  readyState = CONNECTING;
  onopen: ((event: Event) => void) | null = null;
  onerror: ((event: Event) => void) | null = null;
  #listeners = new Map<string, (event: MessageEvent<string>) => void>();
  #abort = new AbortController();

  constructor(url: string) {
    void this.#read(url);
  }

  addEventListener(name: string, listener: (event: MessageEvent<string>) => void): void {
    this.#listeners.set(name, listener);
  }

  close(): void {
    this.readyState = EVENT_SOURCE_CLOSED;
    this.#abort.abort();
  }

  /** Reads until the stream ends, which is an error unless the page closed it. */
  async #read(url: string): Promise<void> {
    try {
      const bytes = await openStream(url, this.#abort.signal);
      if (this.#abort.signal.aborted) return;
      this.readyState = OPEN;
      this.onopen?.(new Event("open"));
      const events = bytes.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream()).getReader();
      for (let next = await events.read(); !next.done; next = await events.read()) {
        const { event = "message", data, id } = next.value;
        this.#listeners.get(event)?.(new MessageEvent(event, { data, lastEventId: id ?? "" }));
      }
    } catch {
      // The page then asks the server for the reason, and connects again.
    }
    if (this.#abort.signal.aborted) return;
    this.readyState = EVENT_SOURCE_CLOSED;
    this.onerror?.(new Event("error"));
  }
}
