// The messages of a conversation, oldest first, and how server events change them.
// Pure: every function takes a list and returns a new one.

import type { EventData, HistoryItem, Id, SendResponse } from "../wire";

export type Delivery = "sending" | "kept" | "streaming" | "unsent";

export interface Failure {
  reason: string;
  retryable: boolean;
}

export interface Message {
  /** Stable while the page is open, even when the id becomes known. */
  key: string;
  id: string | null;
  turnId: string | null;
  sessionId: string | null;
  /** For a proactive message: the decision that sent it. */
  decisionId: string | null;
  channelId: string | null;
  role: "user" | "persona" | "other" | "system";
  /** The speaker's name, with the role `other`. */
  speaker: string | null;
  text: string;
  /** RFC 3339, UTC. */
  at: string;
  externalRef: string | null;
  delivery: Delivery;
  incomplete: boolean;
  failure: Failure | null;
}

type Messages = readonly Message[];

/** Parsing times is slow, and a long history is sorted often. */
const times = new WeakMap<Message, number>();

/** Milliseconds since 1970. */
export function timeOf(message: Message): number {
  const known = times.get(message);
  if (known !== undefined) return known;
  const time = Date.parse(message.at);
  times.set(message, time);
  return time;
}

/** The user's message, shown at once and greyed until it is stored. */
export function withSending(messages: Messages, externalRef: string, text: string, now: string): Message[] {
  const message = draft("user", `ref:${externalRef}`, text, timeNotBeforeLast(messages, now));
  return [...messages, { ...message, externalRef, channelId: "web", delivery: "sending" }];
}

/** Sends an unsent message again. */
export function withResending(messages: Messages, externalRef: string, now: string): Message[] {
  const message = messages.find((m) => m.externalRef === externalRef);
  if (!message) return [...messages];
  const others = messages.filter((m) => m !== message);
  return [...others, { ...message, at: timeNotBeforeLast(others, now), delivery: "sending", failure: null }];
}

export function withAccepted(messages: Messages, externalRef: string, answer: SendResponse): Message[] {
  return changed(messages, (m) => m.externalRef === externalRef, (m) => ({
    ...m,
    id: idOf(answer.accepted?.[0]) ?? m.id,
    turnId: answer.turn_id ?? m.turnId,
    delivery: "kept",
    failure: m.delivery === "unsent" ? null : m.failure,
  }));
}

export function withUnsent(messages: Messages, externalRef: string, failure: Failure): Message[] {
  // The request may fail after the server announced the message: then it is stored.
  return changed(messages, (m) => m.externalRef === externalRef && m.delivery === "sending", (m) => ({
    ...m,
    delivery: "unsent",
    failure,
  }));
}

export function withUserAppended(
  messages: Messages,
  data: EventData["chat.message.user_appended"],
  now: string,
): Message[] {
  const id = idOf(data.message_id);
  const byRef = (m: Message) => !!data.external_ref && m.externalRef === data.external_ref;
  const byId = (m: Message) => id !== null && m.id === id;
  // Without either id, the same text in the same turn is the same message.
  const hasSameText = (m: Message) =>
    m.role === "user" && !!data.turn_id && m.turnId === data.turn_id && m.text === data.content &&
    (id === null || m.id === null) && (!data.external_ref || m.externalRef === null);
  const match = [byRef, byId, hasSameText].find((test) => messages.some(test));
  const fill = (m: Message): Message => ({
    ...m,
    id: id ?? m.id,
    turnId: data.turn_id ?? m.turnId,
    channelId: data.source_channel_id,
    at: data.received_at,
    delivery: "kept",
  });
  if (match) return changed(messages, match, fill);
  const at = timeNotBeforeLast(messages, now);
  const key = id ?? data.external_ref ?? `${data.turn_id ?? ""}:${at}:${messages.length}`;
  const fromHistory = draft("user", `live:${key}`, data.content, at);
  return beforeStreaming(messages, { ...fill(fromHistory), externalRef: data.external_ref ?? null });
}

/** A reply starts. When it is regenerated, the old reply stays until the new one is complete. */
export function withTypingStarted(messages: Messages, turnId: string, now: string): Message[] {
  if (isBeingWritten(messages, turnId)) return [...messages];
  const withoutFailure = withFailureCleared(messages, turnId);
  const replyCount = withoutFailure.filter((m) => m.role === "persona" && m.turnId === turnId).length;
  const key = replyCount ? `reply:${turnId}:${replyCount}:${now}` : `reply:${turnId}`;
  return [...withoutFailure, { ...draft("persona", key, "", timeNotBeforeLast(messages, now)), turnId, delivery: "streaming" }];
}

export function withToken(messages: Messages, turnId: string, delta: string, now: string): Message[] {
  const known = messages.findLast((m) => m.role === "persona" && m.turnId === turnId);
  const withReplyBegun = known ? messages : withTypingStarted(messages, turnId, now);
  // A complete reply (the history arrived first) gets no more tokens.
  return changed(withReplyBegun, (m) => m.turnId === turnId && m.delivery === "streaming", (m) => ({
    ...m,
    text: m.text + delta,
  }));
}

export function withReply(messages: Messages, data: EventData["chat.message.done"], now: string): Message[] {
  const id = String(data.stored_message_id ?? data.message_id);
  const turnId = data.turn_id ?? data.in_reply_to_turn_id ?? null;
  const isKnown = (m: Message) =>
    m.role === "persona" &&
    (m.id === id || (turnId !== null && m.turnId === turnId && (m.delivery === "streaming" || m.text === data.content)));
  const fill = (m: Message): Message => ({
    ...m,
    id,
    turnId: turnId ?? m.turnId,
    channelId: data.source_channel_id,
    text: data.content,
    at: m.delivery === "streaming" ? timeNotBeforeLast(messages, now) : m.at,
    delivery: "kept",
    incomplete: data.incomplete,
  });
  const withoutFailure = turnId === null ? messages : withFailureCleared(messages, turnId);
  if (withoutFailure.some(isKnown)) return changed(withoutFailure, isKnown, fill);
  return [...withoutFailure, fill(draft("persona", `live:${id}`, data.content, timeNotBeforeLast(messages, now)))];
}

/** Applies an edit of the user's message. */
export function withEdited(messages: Messages, id: string, text: string): Message[] {
  return changed(messages, (m) => m.id === id, (m) => ({ ...m, text }));
}

/** Removes messages that were deleted, erased or replaced. */
export function without(messages: Messages, ids: ReadonlySet<string>): Message[] {
  return messages.filter((m) => m.id === null || !ids.has(m.id));
}

export function isBeingWritten(messages: Messages, turnId: string): boolean {
  return messages.some((m) => m.delivery === "streaming" && m.turnId === turnId);
}

type TurnFailure = Pick<EventData["chat.message.failed"], "turn_id" | "reason" | "retryable"> & { user_message_ids?: string[] };

export function withFailure(messages: Messages, data: TurnFailure): Message[] {
  const ids = new Set((data.user_message_ids ?? []).map(String));
  const others = messages.filter((m) => !(m.delivery === "streaming" && m.turnId === data.turn_id));
  const newestOfTurn = others.findLast(
    (m) => m.role === "user" && (m.turnId === data.turn_id || (m.id !== null && ids.has(m.id))),
  );
  return others.map((m) => (m === newestOfTurn ? { ...m, failure: { reason: data.reason, retryable: data.retryable } } : m));
}

/** Marks turns that the server lists as failed, unless a reply exists or is being written. */
export function withKnownFailures(messages: Messages, failed: ReadonlyMap<string, string>): Message[] {
  const answeredTurns = new Set(messages.filter((m) => m.role === "persona").map((m) => m.turnId));
  const lastOfTurn = new Map(messages.filter((m) => m.role === "user").map((m) => [m.turnId, m]));
  return messages.map((m) => {
    const reason = m.turnId === null ? undefined : failed.get(m.turnId);
    if (reason === undefined || m.failure || m.delivery !== "kept" || answeredTurns.has(m.turnId) || lastOfTurn.get(m.turnId) !== m) return m;
    return { ...m, failure: { reason, retryable: true } };
  });
}

/** Merges a page of history (in any order) with the shown messages. */
export function withHistory(messages: Messages, page: readonly HistoryItem[]): Message[] {
  return withOlder(messages, page) ?? withHistoryItems(messages, page);
}

/** Fast path for a page that is older than all messages, as when scrolling back; null for other pages. */
function withOlder(messages: Messages, page: readonly HistoryItem[]): Message[] | null {
  const first = messages[0];
  if (first?.delivery !== "kept" || first.id === null || page.some((item) => !item.created_at)) return null;
  // A message received by an event first has this browser's time, which may be later than the server's.
  if (page.some((item) => String(item.id) === first.id)) return null;
  const older = sortedByTime(withoutDuplicates(page.map(fromHistory)));
  const newest = older.at(-1);
  return newest && timeOf(newest) < timeOf(first) ? [...older, ...messages] : null;
}

const fromHistory = (item: HistoryItem): Message => ({
  ...draft(item.role, `kept:${item.id}`, item.content, ""),
  speaker: item.speaker ?? null,
  ...storedFields(item, new Date(0).toISOString()),
});

function withHistoryItems(messages: Messages, page: readonly HistoryItem[]): Message[] {
  const merged = [...messages];
  const byId = new Map(merged.map((m, index) => [m.id, index]));
  const byTurn = new Map<string | null, number[]>(page.map((item) => [item.turn_id, []]));
  merged.forEach((m, index) => byTurn.get(m.turnId)?.push(index));
  for (const item of page) {
    const ofTurn = byTurn.get(item.turn_id) ?? [];
    const index = byId.get(String(item.id)) ?? ofTurn.find((place) => isSame(merged[place], item)) ?? -1;
    const stored = merged[index];
    if (stored) merged[index] = { ...stored, ...storedFields(item, stored.at) };
    else merged.push(fromHistory(item));
  }
  return sortedByTime(withoutDuplicates(merged));
}

/** The same message under another id, or without one yet. */
function isSame(message: Message | undefined, item: HistoryItem): boolean {
  if (!message || message.role !== item.role || item.turn_id === null || message.turnId !== item.turn_id) return false;
  if (message.delivery === "streaming") return true;
  // A turn has one reply, whatever its id; a user may write the same text twice.
  return message.text === item.content && (message.id === null || message.role === "persona");
}

function storedFields(item: HistoryItem, at: string) {
  return {
    id: String(item.id),
    turnId: item.turn_id,
    sessionId: idOf(item.session_id),
    decisionId: item.decision_id ?? null,
    channelId: item.source_channel_id,
    text: item.content,
    at: item.created_at ?? at,
    delivery: "kept" as const,
    incomplete: item.incomplete ?? false,
  };
}

/** Stored messages by time; pending ones stay at the end in their order. */
function sortedByTime(messages: Message[]): Message[] {
  const stored = messages.filter((m) => m.delivery === "kept");
  const pending = messages.filter((m) => m.delivery !== "kept");
  // A history fetched page by page is in order already, and sorting a long one is slow.
  const compare = (a: Message, b: Message) => {
    const byTime = timeOf(a) - timeOf(b);
    if (byTime || a.id === null || b.id === null || a.id === b.id) return byTime;
    return a.id < b.id ? -1 : 1;
  };
  const isInOrder = stored.every((m, index) => index === 0 || compare(stored[index - 1] ?? m, m) <= 0);
  // (The sort is stable: equal messages keep their order.)
  if (!isInOrder) stored.sort(compare);
  return [...stored, ...pending];
}

function beforeStreaming(messages: Messages, message: Message): Message[] {
  const streaming = messages.findIndex((m) => m.delivery === "streaming" && m.turnId === message.turnId);
  return streaming < 0 ? [...messages, message] : messages.toSpliced(streaming, 0, message);
}

function changed(messages: Messages, wanted: (m: Message) => boolean, change: (m: Message) => Message): Message[] {
  const index = messages.findLastIndex(wanted);
  const message = messages[index];
  if (!message) return [...messages];
  const next = change(message);
  const list = messages.with(index, next);
  // Removing duplicates is slow in a long list, and only a new id can cause one.
  return next.id === message.id ? list : withoutDuplicates(list);
}

/** The history and the stream can bring the same message before its id is known. */
function withoutDuplicates(messages: Message[]): Message[] {
  const seen = new Set<string>();
  return messages.filter((m) => {
    if (m.id === null) return true;
    if (seen.has(m.id)) return false;
    seen.add(m.id);
    return true;
  });
}

/** Clears the failure of a turn whose reply is being written again. */
export function withFailureCleared(messages: Messages, turnId: string): Message[] {
  return messages.map((m) => (m.turnId === turnId && m.failure && m.delivery === "kept" ? { ...m, failure: null } : m));
}

/** The clocks of the browser and the server may differ: a new message is never older than the one above it. */
function timeNotBeforeLast(messages: Messages, now: string): string {
  const lastTime = messages.at(-1)?.at;
  return lastTime && Date.parse(lastTime) > Date.parse(now) ? lastTime : now;
}

function idOf(id: Id | null | undefined): string | null {
  return id === null || id === undefined ? null : String(id);
}

function draft(role: Message["role"], key: string, text: string, at: string): Message {
  return {
    key,
    id: null,
    turnId: null,
    sessionId: null,
    decisionId: null,
    channelId: null,
    role,
    speaker: null,
    text,
    at,
    externalRef: null,
    delivery: "kept",
    incomplete: false,
    failure: null,
  };
}
