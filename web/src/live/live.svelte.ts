// Keeps the room in step with the daemon: the event stream, what is fetched beside it, and sending.

import {
  editMessage,
  getConflictCount,
  getFailedTurns,
  getHistory,
  getPersona,
  getPersonas,
  getState,
  getTimeline,
  PAGE,
  Refused,
  regenerate,
  retryTurn,
  send,
  stopTurn,
} from "../api";
import { language } from "../language.svelte";
import { notices } from "../notices.svelte";
import { chosen } from "../persona.svelte";
import { explain } from "../trouble";
import type { ServerEvent } from "../wire";
import { withAccepted, withFailure, withFailureCleared, withKnownFailures, withResending, withSending, withUnsent } from "./conversation";
import {
  EMPTY_ROOM,
  USER_ID,
  withEvent,
  withHistoryPage,
  withoutOldest,
  withPersona,
  withState,
  withTimelinePage,
  type Room,
} from "./room";
import { EventStream } from "./stream";

export type Connection = "connecting" | "live" | "lost" | "unauthorized";

/** A page of history while a certain message is looked for. */
const SEARCH_PAGE = 200;
/** So many messages above the end, and the pages grow. */
const FAR_BACK = 250;
/** How far back a message is looked for. */
const SEARCH_PAGES_MAX = 250;

/** Events after which the daemon's lists are the truth: a gap, or news that do not say all. */
const STALE_AFTER = new Set(["chat.connection.lagged", "chat.settings.updated"]);

/** Events after which an answer that was read before them still holds words that are gone, or others by now. */
const REWORDED_BY = new Set(["chat.message.deleted", "chat.message.edited", "memory.forgotten", "memory.node.updated"]);

/** Events after which other turns have failed, or turns have other traces. */
const TURN_MOVED_BY = new Set(["chat.message.typing_started", "chat.message.done", "chat.message.failed"]);

class Live {
  room: Room = $state.raw(EMPTY_ROOM);
  connection: Connection = $state("connecting");
  loaded = $state(false);
  loadingEarlier = $state(false);
  /** What the last failed request said; null once one succeeds. */
  trouble: string | null = $state(null);
  /** The latest thing a screen reader should say. */
  announcement = $state("");
  /** Replies that came while the reader was elsewhere or further up. */
  unread = $state(0);
  /** True while the reader sees the end of the conversation. */
  atEnd = $state(true);
  /** The message that the reader wants to see. */
  wanted: string | null = $state(null);
  /** Grows whenever memory changed; lists that show it fetch anew. */
  memoryVersion = $state(0);
  workVersion = $state(0);
  /** Grows whenever the persona's picture may be another one: it keeps its address. */
  pictureVersion = $state(0);
  /** Versions of documents that wait for a decision. */
  conflicts = $state(0);

  #stream = new EventStream({
    open: (url) => new EventSource(url),
    later: (run, ms) => setTimeout(run, ms),
    take: (events) => this.#take(events),
    changed: (state) => {
      const wasLost = this.connection === "lost";
      this.connection = state === "open" ? "live" : "lost";
      if (state !== "open") return;
      if (wasLost) this.pictureVersion += 1;
      this.#catchUp();
    },
    refused: () => void this.start(),
  });
  /** The conversation is on the screen. */
  #reading = false;
  /** A message far back is being looked for: what has come in for it stays. */
  #finding = false;
  #earlier: Promise<boolean> | null = null;
  /** How often words were taken away or changed. */
  #reworded = 0;
  #refreshing: Promise<void> | null = null;
  #refreshAgain = false;

  /** The turn whose reply is being written. */
  writing = $derived(this.room.messages.findLast((m) => m.delivery === "streaming")?.turnId ?? null);

  async start(): Promise<void> {
    // A stream that is refused does not say why, so a plain request asks first.
    this.trouble = null;
    if (await this.#fetch(getState, withState)) {
      this.#stream.start();
      await this.listPersonas();
    } else if (this.connection !== "unauthorized") {
      this.connection = "lost";
      this.#stream.retryLater();
    }
  }

  /** Goes to another persona: its own conversation and memory. */
  async goTo(personaId: string | null): Promise<void> {
    chosen.choose(personaId);
    this.room = { ...EMPTY_ROOM, personaId };
    this.loaded = false;
    this.unread = 0;
    this.atEnd = true;
    this.memoryVersion += 1;
    await this.#refresh();
  }

  async listPersonas(): Promise<void> {
    // A daemon that keeps one persona has no list; then there is nothing to choose from.
    chosen.all = await getPersonas().catch(() => []);
  }

  /** What was decided elsewhere is not announced, so they are counted also whenever lists are fetched anew. */
  async countConflicts(): Promise<void> {
    this.conflicts = await getConflictCount().catch(() => this.conflicts);
  }

  async refresh(): Promise<void> {
    await this.#refresh();
  }

  async send(text: string): Promise<void> {
    const externalRef = reference();
    this.#setMessages(withSending(this.room.messages, externalRef, text, now()));
    await this.#deliver(externalRef, text);
  }

  async sendAgain(externalRef: string, text: string): Promise<void> {
    this.#setMessages(withResending(this.room.messages, externalRef, now()));
    await this.#deliver(externalRef, text);
  }

  /** Asks again for the reply of a turn that failed; what was said is safe either way. */
  async askAgain(turnId: string): Promise<void> {
    // It may fail again before the request is answered, so the old failure is gone before it is sent.
    const failure = this.room.messages.find((m) => m.turnId === turnId && m.failure)?.failure;
    this.#setMessages(withFailureCleared(this.room.messages, turnId));
    if (await this.#attempt(() => retryTurn(turnId))) return;
    if (failure) this.#setMessages(withFailure(this.room.messages, { turn_id: turnId, ...failure }));
  }

  async stop(turnId: string): Promise<void> {
    await this.#attempt(() => stopTurn(turnId));
  }

  async sayAnew(turnId: string): Promise<void> {
    await this.#attempt(() => regenerate(turnId));
  }

  /** True once the daemon has kept the new words. */
  async edit(id: string, text: string): Promise<boolean> {
    const kept = await this.#attempt(() => editMessage(id, text));
    if (kept) this.#setMessages(this.room.messages.map((m) => (m.id === id ? { ...m, text } : m)));
    return kept;
  }

  async loadEarlierMessages(): Promise<void> {
    // Who goes far back is not kept waiting every few lines.
    await this.#loadEarlier(this.room.messages.length < FAR_BACK ? PAGE : SEARCH_PAGE);
  }

  async loadEarlierMemories(): Promise<void> {
    const from = this.room.earlierMemories;
    if (!from) return;
    this.trouble = null;
    const reworded = this.#reworded;
    await this.#fetch(
      () => getTimeline(from),
      (room, page) =>
        reworded === this.#reworded && room.earlierMemories === from ? withTimelinePage(room, page, true) : room,
    );
  }

  /** Pages back until the message is there. False when it is not in this conversation, or too far back. */
  async find(messageId: string): Promise<boolean> {
    const there = () => this.room.messages.some((m) => m.id === messageId);
    this.#finding = true;
    try {
      for (let page = 0; page < SEARCH_PAGES_MAX && !there() && this.room.earlierMessages; page++) {
        if (!(await this.#loadEarlier(SEARCH_PAGE))) break;
      }
      if (there()) this.wanted = messageId;
    } finally {
      this.#finding = false;
    }
    return there();
  }

  /** The reader has the end of the conversation before their eyes, or not. */
  looks(atEnd: boolean): void {
    this.#reading = true;
    this.atEnd = atEnd;
    if (!atEnd || document.hidden) return;
    this.unread = 0;
    this.#letGo();
  }

  /**
   * The reader went to another screen; whoever comes back begins at the end. (Nothing else here: this is called while a
   * component goes, and what is read then is what was before.)
   */
  leaves(): void {
    this.#reading = false;
  }

  /** One page at a time; true unless it could not be had. */
  #loadEarlier(limit: number): Promise<boolean> {
    this.#earlier ??= this.#fetchEarlier(limit).finally(() => {
      this.#earlier = null;
      this.loadingEarlier = false;
    });
    return this.#earlier;
  }

  async #fetchEarlier(limit: number): Promise<boolean> {
    const from = this.room.earlierMessages;
    if (!from) return false;
    this.loadingEarlier = true;
    this.trouble = null;
    let reworded: number;
    let came: boolean;
    do {
      reworded = this.#reworded;
      // Where the list goes on elsewhere by now, the page would leave a hole, or bring back what is gone.
      const isCurrent = (room: Room) => room.earlierMessages === from && reworded === this.#reworded;
      came = await this.#fetch(
        () => getHistory(from, limit),
        (room, page) => (isCurrent(room) ? withHistoryPage(room, page, true) : room),
      );
    } while (came && reworded !== this.#reworded && this.room.earlierMessages === from);
    return came;
  }

  async #deliver(externalRef: string, text: string): Promise<void> {
    try {
      const answer = await send(text, externalRef);
      this.#setMessages(withAccepted(this.room.messages, externalRef, answer));
    } catch (error) {
      this.#noteRefusal(error);
      const failure = { reason: explain(error), retryable: true };
      this.#setMessages(withUnsent(this.room.messages, externalRef, failure));
      this.announcement = `${language.say("unsent")} ${failure.reason}`;
    }
  }

  async #attempt(act: () => Promise<unknown>): Promise<boolean> {
    try {
      await act();
      return true;
    } catch (error) {
      this.#noteRefusal(error);
      notices.fail(error);
      return false;
    }
  }

  #take(events: ServerEvent[]): void {
    let stale = false;
    for (const event of events) {
      const before = this.room;
      this.room = withEvent(before, event, now());
      if (this.room !== before || event.name === "work.failed") this.#tell(event);
      if (event.name.startsWith("memory.")) this.memoryVersion += 1;
      if (event.name === "work.failed" || TURN_MOVED_BY.has(event.name)) this.workVersion += 1;
      if (event.name === "sync.conflict") {
        this.memoryVersion += 1;
        void this.countConflicts();
      }
      if (STALE_AFTER.has(event.name)) this.pictureVersion += 1;
      const isReworded = REWORDED_BY.has(event.name);
      if (isReworded) this.#reworded += 1;
      const closed = event.name === "chat.session.boundary" && event.data.closed_session_id !== null;
      const emptied = event.name === "memory.forgotten" && event.data.all === true;
      // (A closed session: live messages may not know yet which session they belong to.)
      stale ||= STALE_AFTER.has(event.name) || closed || emptied || (isReworded && this.#refreshing !== null);
      if (closed) this.workVersion += 1;
    }
    // Who reads further up keeps what they read; a page that nobody looks at does not grow.
    if (this.atEnd || !this.#reading) this.#letGo();
    if (stale) this.#catchUp();
  }

  #letGo(): void {
    // A message that was found is shown a moment later.
    const isOnTheWay = this.#finding || (this.wanted !== null && this.room.messages.some((m) => m.id === this.wanted));
    if (!isOnTheWay) this.room = withoutOldest(this.room);
  }

  /** What happened while nobody listened is in the daemon's lists. */
  #catchUp(): void {
    this.memoryVersion += 1;
    this.workVersion += 1;
    void this.#refresh();
  }

  #tell(event: ServerEvent): void {
    const name = this.room.personaName;
    if (event.name === "chat.message.done") {
      this.announcement = language.say("said", { name, text: event.data.content });
      if (!this.atEnd || !this.#reading || document.hidden) this.unread += 1;
    }
    if (event.name === "chat.message.failed") this.announcement = `${language.say("failed")} ${event.data.reason}`;
    if (event.name === "work.failed") notices.say(language.say("workHasFailed"), true);
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
    const asked = new Set(this.room.messages.flatMap((m) => m.id ?? []));
    const known = new Set(this.room.memories.map((memory) => memory.key));
    const reworded = this.#reworded;
    // (If not, one more refresh is on its way.)
    const isCurrent = () => reworded === this.#reworded;
    void this.countConflicts();
    await Promise.all([
      this.#fetch(getState, withState),
      this.#fetch(getPersona, withPersona),
      this.#fetch(
        () => getHistory(null),
        (room, page) => (isCurrent() ? withHistoryPage(room, page, false, asked) : room),
      ),
      this.#fetch(
        () => getTimeline(null),
        (room, page) => (isCurrent() ? withTimelinePage(room, page, false, known) : room),
      ),
    ]);
    this.loaded = true;
    await this.#markFailures();
  }

  /** History does not say which turns failed. */
  async #markFailures(): Promise<void> {
    const { personaId } = this.room;
    const items = await getFailedTurns().catch(() => []);
    const own = items.filter((item) => item.persona_id === personaId && item.user_id === USER_ID);
    if (own.length === 0 || this.room.personaId !== personaId) return;
    this.#setMessages(withKnownFailures(this.room.messages, new Map(own.map((item) => [item.id, item.reason ?? ""]))));
  }

  /** True when the answer is in the room; otherwise the page says what is wrong. */
  async #fetch<Answer>(get: () => Promise<Answer>, take: (room: Room, answer: Answer) => Room): Promise<boolean> {
    const persona = chosen.personaId;
    try {
      const answer = await get();
      if (chosen.personaId !== persona) return false;
      // The room may have changed while we waited: take the answer into the room of now.
      this.room = take(this.room, answer);
      return true;
    } catch (error) {
      this.#noteRefusal(error);
      if (persona !== null && error instanceof Refused && error.status === 404) chosen.choose(null);
      this.trouble = explain(error);
      return false;
    }
  }

  #noteRefusal(error: unknown): void {
    if (!(error instanceof Refused) || error.status !== 401) return;
    this.connection = "unauthorized";
    this.#stream.stop();
  }

  #setMessages(messages: Room["messages"]): void {
    this.room = { ...this.room, messages };
  }
}

export const live = new Live();

function now(): string {
  return new Date().toISOString();
}

/** `crypto.randomUUID` is missing where the page is served over plain HTTP to another machine. */
function reference(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
