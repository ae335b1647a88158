// Keeps the chat state up to date: the event stream, the fetched lists, and sending.

import {
  editMessage,
  getHubStatus,
  getFailedTurns,
  getHistory,
  getPersona,
  getPersonas,
  getState,
  getTimeline,
  offerTimezone,
  PAGE_SIZE,
  ApiError,
  NetworkError,
  regenerate,
  reportTyping,
  retryTurn,
  send,
  stopTurn,
} from "../api";
import { language } from "../language.svelte";
import { toasts } from "../toasts.svelte";
import { personas } from "../persona.svelte";
import { player } from "../voice/player.svelte";
import { errorMessage } from "../errors";
import type { ImportProgress, ServerEvent } from "../wire";
import { withAccepted, withFailure, withFailureCleared, withKnownFailures, withResending, withSending, withUnsent } from "./messages";
import {
  EMPTY_CHAT_STATE,
  USER_ID,
  withEvent,
  withHistoryPage,
  withoutOldest,
  withPersona,
  withState,
  withTimelinePage,
  type ChatState,
} from "./chat_state";
import { FetchEventSource } from "./fetch_event_source";
import { EventStream } from "./stream";
import { readItem, writeItem } from "../storage";
import { storeUnsent, withStoredUnsent } from "./unsent";

export type Connection = "connecting" | "live" | "lost" | "unauthorized";

/** Page size while searching for a message far back. */
const SEARCH_PAGE = 200;
/** With more messages than this, larger pages are loaded. */
const FAR_BACK = 250;
/** Maximum pages to search for a message. */
const SEARCH_PAGES_MAX = 250;

/** Events after which the lists are fetched again, because they do not contain all changes. */
const STALE_AFTER = new Set(["chat.connection.lagged", "chat.settings.updated"]);

/** Events that remove or change text: a response from before them is outdated. */
const TEXT_CHANGED_BY = new Set(["chat.message.deleted", "chat.message.edited", "memory.forgotten", "memory.node.updated"]);

/** Events that change failed turns or traces. */
const TURN_CHANGED_BY = new Set(["chat.message.typing_started", "chat.message.done", "chat.message.failed"]);

class Live {
  chat: ChatState = $state.raw(EMPTY_CHAT_STATE);
  connection: Connection = $state("connecting");
  loaded = $state(false);
  loadingEarlier = $state(false);
  /** The last failed request's message; null after a success. */
  errorText: string | null = $state(null);
  /** Text for screen readers. */
  announcement = $state("");
  /** Replies that arrived while the reader was on another screen or scrolled up. */
  unread = $state(0);
  /** True if the end of the conversation is visible. */
  atEnd = $state(true);
  /** The message to scroll to. */
  scrollTarget: string | null = $state(null);
  /** Incremented when memory changes; lists reload. */
  memoryVersion = $state(0);
  workVersion = $state(0);
  /** Incremented when the persona's picture may have changed: its URL stays the same. */
  avatarVersion = $state(0);
  /** Incremented when an import has progressed. */
  importVersion = $state(0);
  /** Incremented when somebody was logged in or a token was created. */
  accessVersion = $state(0);
  importProgress: ImportProgress | null = $state.raw(null);
  /** Number of open conflicts. */
  conflicts = $state(0);
  /** The hub's own instance; null until it is known. */
  instance: string | null = $state(null);

  #stream = new EventStream({
    open: (url) => new FetchEventSource(url),
    setTimer: (run, ms) => setTimeout(run, ms),
    onEvents: (events) => this.#apply(events),
    onStateChange: (state) => {
      const wasLost = this.connection === "lost";
      this.connection = state === "open" ? "live" : "lost";
      if (state !== "open") return;
      void this.#sendUnreached();
      if (wasLost) this.avatarVersion += 1;
      this.#refetch();
    },
    onRejected: () => void this.start(),
  });
  /** True if the conversation is shown. */
  #reading = false;
  /** True while searching for a message far back; loaded pages are not dropped meanwhile. */
  #searching = false;
  /** References of the messages that this page has sent. */
  #sent = new Set<string>();
  /** Messages that did not reach the server; they are sent again once it responds. */
  #unreached = new Map<string, { text: string; recordingId: string | null }>();
  #earlier: Promise<boolean> | null = null;
  /** Counts removals and changes of text. */
  #textVersion = 0;
  #refreshing: Promise<void> | null = null;
  #refreshAgain = false;

  /** The turn whose reply is being written. */
  writing = $derived(this.chat.messages.findLast((m) => m.delivery === "streaming")?.turnId ?? null);

  /** Messages of this page that wait for a reply which has not started: the server answers them together. */
  awaiting = $derived.by(() => {
    const from = this.chat.messages.findLastIndex((m) => m.role === "persona") + 1;
    const waiting = this.chat.messages.slice(from).filter((m) => m.role === "user" && this.#sent.has(m.externalRef ?? ""));
    return waiting.every((m) => m.failure === null) ? waiting.length : 0;
  });

  async start(): Promise<void> {
    // A rejected stream gives no reason, so a plain request goes first.
    this.errorText = null;
    if (await this.#fetch(getState, withState)) {
      this.#stream.start();
      void this.#offerTimezone();
      await this.listPersonas();
      await player.load();
    } else if (this.connection !== "unauthorized") {
      this.connection = "lost";
      this.#stream.retryLater();
    }
  }

  /**
   * Days and words such as "yesterday" refer to the reader's zone. It is offered only once by each browser, so that a
   * zone that was removed stays removed.
   */
  async #offerTimezone(): Promise<void> {
    const timezone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    if (readItem("zone") === timezone) return;
    // After a failure it is offered again at the next visit.
    await offerTimezone(timezone).then(
      () => writeItem("zone", timezone),
      () => undefined,
    );
  }

  /** Reloads which models are in use. */
  async refreshState(): Promise<void> {
    await this.#fetch(getState, withState);
  }

  /** Switches to another persona with its own conversation and memory. */
  async selectPersona(personaId: string | null): Promise<void> {
    personas.select(personaId);
    player.stop();
    this.chat = { ...EMPTY_CHAT_STATE, personaId };
    this.loaded = false;
    this.unread = 0;
    this.atEnd = true;
    this.memoryVersion += 1;
    await this.#refresh();
  }

  async listPersonas(): Promise<void> {
    // Without a list, the selection is empty.
    personas.all = await getPersonas().catch(() => []);
  }

  /** Conflicts settled elsewhere send no event, so they are counted at every refresh. */
  async countConflicts(): Promise<void> {
    const hub = await getHubStatus().catch(() => null);
    if (!hub) return;
    this.conflicts = hub.openConflicts;
    this.instance = hub.instance;
  }

  async refresh(): Promise<void> {
    await this.#refresh();
  }

  /** `recordingId`: the recording that the text is a transcript of. */
  async send(text: string, recordingId: string | null = null): Promise<void> {
    const externalRef = reference();
    this.#setMessages(withSending(this.chat.messages, externalRef, text, now()));
    await this.#deliver(externalRef, text, recordingId);
  }

  /** Sends them in the order of writing. One that fails again stays unsent. */
  async #sendUnreached(): Promise<void> {
    const unreached = [...this.#unreached];
    this.#unreached.clear();
    for (const [externalRef, { text, recordingId }] of unreached) {
      const isUnsent = this.chat.messages.some((m) => m.externalRef === externalRef && m.delivery === "unsent");
      if (!isUnsent) continue;
      this.#setMessages(withResending(this.chat.messages, externalRef, now()));
      await this.#deliver(externalRef, text, recordingId);
    }
  }

  async sendAgain(externalRef: string, text: string): Promise<void> {
    this.#setMessages(withResending(this.chat.messages, externalRef, now()));
    await this.#deliver(externalRef, text);
  }

  /** Retries the reply of a failed turn; its messages are stored already. */
  async retryReply(turnId: string): Promise<void> {
    // It may fail again before the response, so the old failure is cleared first.
    const failure = this.chat.messages.find((m) => m.turnId === turnId && m.failure)?.failure;
    this.#setMessages(withFailureCleared(this.chat.messages, turnId));
    if (await this.#attempt(() => retryTurn(turnId))) return;
    if (failure) this.#setMessages(withFailure(this.chat.messages, { turn_id: turnId, ...failure }));
  }

  /** Reports if the reader is typing. A failed report only means the usual delay. */
  async reportTyping(isTyping: boolean): Promise<void> {
    await reportTyping(isTyping).catch(() => undefined);
  }

  async stop(turnId: string): Promise<void> {
    await this.#attempt(() => stopTurn(turnId));
  }

  async regenerate(turnId: string): Promise<void> {
    await this.#attempt(() => regenerate(turnId));
  }

  /** True once the server has stored the new text. */
  async edit(id: string, text: string): Promise<boolean> {
    const kept = await this.#attempt(() => editMessage(id, text));
    if (kept) this.#setMessages(this.chat.messages.map((m) => (m.id === id ? { ...m, text } : m)));
    return kept;
  }

  async loadEarlierMessages(): Promise<void> {
    // Far back, pages are larger.
    await this.#loadEarlier(this.chat.messages.length < FAR_BACK ? PAGE_SIZE : SEARCH_PAGE);
  }

  async loadEarlierMemories(): Promise<void> {
    const from = this.chat.earlierMemories;
    if (!from) return;
    this.errorText = null;
    const textVersion = this.#textVersion;
    await this.#fetch(
      () => getTimeline(from),
      (chat, page) =>
        textVersion === this.#textVersion && chat.earlierMemories === from ? withTimelinePage(chat, page, true) : chat,
    );
  }

  /** Loads earlier pages until the message is found. False if it is not in this conversation, or too far back. */
  async scrollToMessage(messageId: string): Promise<boolean> {
    const isLoaded = () => this.chat.messages.some((m) => m.id === messageId);
    this.#searching = true;
    try {
      for (let page = 0; page < SEARCH_PAGES_MAX && !isLoaded() && this.chat.earlierMessages; page++) {
        if (!(await this.#loadEarlier(SEARCH_PAGE))) break;
      }
      if (isLoaded()) this.scrollTarget = messageId;
    } finally {
      this.#searching = false;
    }
    return isLoaded();
  }

  /** Sets if the end of the conversation is visible. */
  setAtEnd(atEnd: boolean): void {
    this.#reading = true;
    this.atEnd = atEnd;
    if (!atEnd || document.hidden) return;
    this.unread = 0;
    this.#trim();
  }

  /**
   * The reader left the chat screen. (Does nothing else: it is called while a component is destroyed, when derived state
   * is outdated.)
   */
  stopReading(): void {
    this.#reading = false;
  }

  /** Loads one page at a time; false on failure. */
  #loadEarlier(limit: number): Promise<boolean> {
    this.#earlier ??= this.#fetchEarlier(limit).finally(() => {
      this.#earlier = null;
      this.loadingEarlier = false;
    });
    return this.#earlier;
  }

  async #fetchEarlier(limit: number): Promise<boolean> {
    const from = this.chat.earlierMessages;
    if (!from) return false;
    this.loadingEarlier = true;
    this.errorText = null;
    let textVersion: number;
    let isLoaded: boolean;
    do {
      textVersion = this.#textVersion;
      // If the list has changed meanwhile, the page would leave a gap or bring back deleted text.
      const isCurrent = (chat: ChatState) => chat.earlierMessages === from && textVersion === this.#textVersion;
      isLoaded = await this.#fetch(
        () => getHistory(from, limit),
        (chat, page) => (isCurrent(chat) ? withHistoryPage(chat, page, true) : chat),
      );
    } while (isLoaded && textVersion !== this.#textVersion && this.chat.earlierMessages === from);
    return isLoaded;
  }

  /** Removes a message that could not be sent. */
  discard(externalRef: string): void {
    this.#setMessages(this.chat.messages.filter((m) => m.externalRef !== externalRef));
    storeUnsent(personas.selectedId, this.chat.messages);
  }

  async #deliver(externalRef: string, text: string, recordingId: string | null = null): Promise<void> {
    const personaId = personas.selectedId;
    storeUnsent(personaId, this.chat.messages);
    this.#sent.add(externalRef);
    try {
      const answer = await send(text, externalRef, recordingId);
      this.#setMessages(withAccepted(this.chat.messages, externalRef, answer));
    } catch (error) {
      this.#checkSignedIn(error);
      if (error instanceof NetworkError) this.#unreached.set(externalRef, { text, recordingId });
      const failure = { reason: errorMessage(error), retryable: true };
      this.#setMessages(withUnsent(this.chat.messages, externalRef, failure));
      this.announcement = `${language.t("unsent")} ${failure.reason}`;
    }
    if (personas.selectedId === personaId) storeUnsent(personaId, this.chat.messages);
  }

  async #attempt(act: () => Promise<unknown>): Promise<boolean> {
    try {
      await act();
      return true;
    } catch (error) {
      this.#checkSignedIn(error);
      toasts.showError(error);
      return false;
    }
  }

  #apply(events: ServerEvent[]): void {
    let stale = false;
    for (const event of events) {
      const before = this.chat;
      this.chat = withEvent(before, event, now());
      player.apply(event);
      if (this.chat !== before || event.name === "work.failed") this.#announce(event);
      if (event.name.startsWith("memory.")) this.memoryVersion += 1;
      if (event.name === "work.failed" || TURN_CHANGED_BY.has(event.name)) this.workVersion += 1;
      if (event.name === "sync.conflict") {
        this.memoryVersion += 1;
        void this.countConflicts();
      }
      if (event.name === "import.progress") {
        // An import has added messages on other days.
        stale ||= this.importProgress?.state === "recording" && event.data.state !== "recording";
        this.importProgress = event.data;
        this.importVersion += 1;
      }
      if (event.name === "access.created") {
        this.accessVersion += 1;
        const { kind, name, address } = event.data;
        toasts.show(kind === "login" ? language.t("loginNew", { name, address: address ?? "" }) : language.t("tokenNew", { name }));
      }
      if (STALE_AFTER.has(event.name)) this.avatarVersion += 1;
      const textChanged = TEXT_CHANGED_BY.has(event.name);
      if (textChanged) this.#textVersion += 1;
      const closed = event.name === "chat.session.boundary" && event.data.closed_session_id !== null;
      const isPersonaReset = event.name === "memory.forgotten" && event.data.all === true;
      // (After a session closes, live messages may not know their session yet.)
      stale ||= STALE_AFTER.has(event.name) || closed || isPersonaReset || (textChanged && this.#refreshing !== null);
      if (closed) this.workVersion += 1;
    }
    // Nothing is dropped while the reader is scrolled up, unless the page is hidden.
    if (this.atEnd || !this.#reading) this.#trim();
    if (stale) this.#refetch();
  }

  #trim(): void {
    // The message that was searched for will be shown next.
    const isOnTheWay = this.#searching || (this.scrollTarget !== null && this.chat.messages.some((m) => m.id === this.scrollTarget));
    if (!isOnTheWay) this.chat = withoutOldest(this.chat);
  }

  /** Fetches changes that may have been missed. */
  #refetch(): void {
    this.memoryVersion += 1;
    this.workVersion += 1;
    void this.#refresh();
  }

  #announce(event: ServerEvent): void {
    const name = this.chat.personaName;
    if (event.name === "chat.message.done") {
      this.announcement = language.t("said", { name, text: event.data.content });
      if (!this.atEnd || !this.#reading || document.hidden) this.unread += 1;
    }
    if (event.name === "chat.message.failed") this.announcement = `${language.t("failed")} ${event.data.reason}`;
    if (event.name === "work.failed") toasts.show(language.t("workHasFailed"), true);
    if (event.name === "memory.event.created") {
      this.announcement = `${language.t("kindEvent")}${language.t("colon")}${event.data.description}`;
    }
  }

  /** One refresh at a time; a request during it causes one more. */
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
    this.errorText = null;
    const asked = new Set(this.chat.messages.flatMap((m) => m.id ?? []));
    const known = new Set(this.chat.memories.map((memory) => memory.key));
    const textVersion = this.#textVersion;
    // (If not, another refresh follows.)
    const isCurrent = () => textVersion === this.#textVersion;
    void this.countConflicts();
    await Promise.all([
      this.#fetch(getState, withState),
      this.#fetch(getPersona, withPersona),
      this.#fetch(
        () => getHistory(null),
        (chat, page) => {
          if (!isCurrent()) return chat;
          const next = withHistoryPage(chat, page, false, asked);
          return this.loaded ? next : { ...next, messages: withStoredUnsent(next.messages, page.messages, personas.selectedId) };
        },
      ),
      this.#fetch(
        () => getTimeline(null),
        (chat, page) => (isCurrent() ? withTimelinePage(chat, page, false, known) : chat),
      ),
    ]);
    this.loaded = true;
    await this.#markFailures();
  }

  /** The history does not contain failures. */
  async #markFailures(): Promise<void> {
    const { personaId } = this.chat;
    const items = await getFailedTurns().catch(() => []);
    const own = items.filter((item) => item.persona_id === personaId && item.user_id === USER_ID);
    if (own.length === 0 || this.chat.personaId !== personaId) return;
    this.#setMessages(withKnownFailures(this.chat.messages, new Map(own.map((item) => [item.id, item.reason ?? ""]))));
  }

  /** True on success; otherwise the page shows the error. */
  async #fetch<Response>(get: () => Promise<Response>, take: (chat: ChatState, answer: Response) => ChatState): Promise<boolean> {
    const persona = personas.selectedId;
    try {
      const answer = await get();
      if (personas.selectedId !== persona) return false;
      // Applied to the current state, which may have changed during the request.
      this.chat = take(this.chat, answer);
      return true;
    } catch (error) {
      this.#checkSignedIn(error);
      if (persona !== null && error instanceof ApiError && error.status === 404) personas.select(null);
      this.errorText = errorMessage(error);
      return false;
    }
  }

  #checkSignedIn(error: unknown): void {
    if (!(error instanceof ApiError) || error.status !== 401) return;
    this.connection = "unauthorized";
    this.#stream.stop();
  }

  #setMessages(messages: ChatState["messages"]): void {
    this.chat = { ...this.chat, messages };
  }
}

export const live = new Live();

function now(): string {
  return new Date().toISOString();
}

/** `crypto.randomUUID` is not available over plain HTTP from another machine. */
function reference(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
