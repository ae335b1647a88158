// Keeps the room in step with the daemon: the event stream, what is fetched beside it, and sending.

import { getHistory, getPersona, getState, getTimeline, Refused, retryTurn, send, Unreachable } from "./api";
import { withAccepted, withFailureCleared, withResending, withSending, withUnsent } from "./conversation";
import { language } from "./language.svelte";
import { EMPTY_ROOM, withEvent, withHistoryPage, withPersona, withState, withTimelinePage, type Room } from "./room";
import { EVENT_NAMES, type EventName, type ServerEvent } from "./wire";

export type Connection = "connecting" | "live" | "lost" | "unauthorized";

const RECONNECT_MS_MIN = 1_000;
const RECONNECT_MS_MAX = 30_000;

class Live {
  room: Room = $state.raw(EMPTY_ROOM);
  connection: Connection = $state("connecting");
  loaded = $state(false);
  loadingEarlier = $state(false);
  /** What the last failed request said; null once one succeeds. */
  trouble: string | null = $state(null);
  /** The latest thing a screen reader should say. */
  announcement = $state("");

  #source: EventSource | null = null;
  #reconnectMs = RECONNECT_MS_MIN;
  #refreshing: Promise<void> | null = null;
  #refreshAgain = false;

  async start(): Promise<void> {
    // A stream that is refused does not say why, so a plain request asks first.
    this.trouble = null;
    if (await this.#fetch(getState, withState)) this.#listen();
    else if (this.connection !== "unauthorized") this.#retryLater();
  }

  async send(text: string): Promise<void> {
    const externalRef = reference();
    this.room = withMessages(this.room, withSending(this.room.messages, externalRef, text, now()));
    await this.#deliver(externalRef, text);
  }

  async sendAgain(externalRef: string, text: string): Promise<void> {
    this.room = withMessages(this.room, withResending(this.room.messages, externalRef, now()));
    await this.#deliver(externalRef, text);
  }

  /** Asks again for the reply of a turn that failed; what was said is safe either way. */
  async askAgain(turnId: string): Promise<void> {
    this.trouble = null;
    try {
      await retryTurn(turnId);
      this.room = withMessages(this.room, withFailureCleared(this.room.messages, turnId));
    } catch (error) {
      this.#noteRefusal(error);
      this.trouble = explain(error);
    }
  }

  async loadEarlierMessages(): Promise<void> {
    const from = this.room.earlierMessages;
    if (!from || this.loadingEarlier) return;
    this.loadingEarlier = true;
    this.trouble = null;
    await this.#fetch(() => getHistory(from), (room, page) => withHistoryPage(room, page, true));
    this.loadingEarlier = false;
  }

  async loadEarlierMemories(): Promise<void> {
    const from = this.room.earlierMemories;
    if (!from) return;
    this.trouble = null;
    await this.#fetch(() => getTimeline(from), (room, page) => withTimelinePage(room, page, true));
  }

  async #deliver(externalRef: string, text: string): Promise<void> {
    try {
      const answer = await send(text, externalRef);
      this.room = withMessages(this.room, withAccepted(this.room.messages, externalRef, answer));
    } catch (error) {
      this.#noteRefusal(error);
      const failure = { reason: explain(error), retryable: true };
      this.room = withMessages(this.room, withUnsent(this.room.messages, externalRef, failure));
      this.announcement = `${language.say("unsent")} ${failure.reason}`;
    }
  }

  #listen(): void {
    this.#source?.close();
    const source = new EventSource("/api/chat/events");
    this.#source = source;
    source.onopen = () => {
      this.connection = "live";
      this.#reconnectMs = RECONNECT_MS_MIN;
      void this.#refresh();
    };
    source.onerror = () => {
      this.connection = "lost";
      // The browser reconnects by itself, with Last-Event-ID, unless the answer was not a stream.
      if (source.readyState === EventSource.CLOSED) this.#retryLater();
    };
    for (const name of EVENT_NAMES) {
      source.addEventListener(name, (event) => this.#take(name, event.data as string));
    }
  }

  #retryLater(): void {
    this.#source?.close();
    this.#source = null;
    this.connection = "lost";
    setTimeout(() => void this.start(), this.#reconnectMs);
    this.#reconnectMs = Math.min(this.#reconnectMs * 2, RECONNECT_MS_MAX);
  }

  #take(name: EventName, text: string): void {
    const event = { name, data: JSON.parse(text) } as ServerEvent;
    const before = this.room;
    this.room = withEvent(before, event, now());
    this.#announce(event, this.room !== before);
    const closed = event.name === "chat.session.boundary" && event.data.closed_session_id !== null;
    // After a gap, and where the event itself does not say all, the daemon's lists are the truth.
    // (A closed session: live messages may not know yet which session they belong to.)
    const stale = ["chat.connection.lagged", "memory.forgotten", "chat.settings.updated"].includes(name);
    if (stale || closed) void this.#refresh();
  }

  #announce(event: ServerEvent, changed: boolean): void {
    if (!changed) return;
    const name = this.room.personaName;
    if (event.name === "chat.message.done") this.announcement = language.say("said", { name, text: event.data.content });
    if (event.name === "chat.message.failed") this.announcement = `${language.say("failed")} ${event.data.reason}`;
    if (event.name === "memory.event.created") {
      this.announcement = `${language.say("kindEvent")}: ${event.data.description}`;
    }
  }

  /** One refresh at a time; a wish that comes meanwhile is granted by one more. */
  #refresh(): Promise<void> {
    if (this.#refreshing) {
      this.#refreshAgain = true;
      return this.#refreshing;
    }
    this.#refreshing = this.#fetchAll().finally(() => {
      this.#refreshing = null;
      if (!this.#refreshAgain) return;
      this.#refreshAgain = false;
      void this.#refresh();
    });
    return this.#refreshing;
  }

  async #fetchAll(): Promise<void> {
    this.trouble = null;
    await Promise.all([
      this.#fetch(getState, withState),
      this.#fetch(getPersona, withPersona),
      this.#fetch(() => getHistory(null), (room, page) => withHistoryPage(room, page, false)),
      this.#fetch(() => getTimeline(null), (room, page) => withTimelinePage(room, page, false)),
    ]);
    this.loaded = true;
  }

  /** True when the answer is in the room; otherwise the page says what is wrong. */
  async #fetch<Answer>(get: () => Promise<Answer>, take: (room: Room, answer: Answer) => Room): Promise<boolean> {
    try {
      const answer = await get();
      // The room may have changed while we waited: take the answer into the room of now.
      this.room = take(this.room, answer);
      return true;
    } catch (error) {
      this.#noteRefusal(error);
      this.trouble = explain(error);
      return false;
    }
  }

  #noteRefusal(error: unknown): void {
    if (!(error instanceof Refused) || error.status !== 401) return;
    this.connection = "unauthorized";
    this.#source?.close();
  }
}

export const live = new Live();

function withMessages(room: Room, messages: Room["messages"]): Room {
  return { ...room, messages };
}

function explain(error: unknown): string {
  if (error instanceof Unreachable) return language.say("unreachable");
  if (!(error instanceof Refused)) return String(error);
  if (error.status === 429) return language.say("tooMany", { n: error.retryAfterSeconds ?? 1 });
  return error.detail;
}

function now(): string {
  return new Date().toISOString();
}

/** `crypto.randomUUID` is missing where the page is served over plain HTTP to another machine. */
function reference(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
