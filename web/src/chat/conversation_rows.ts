// The rows of a conversation: days, messages, and dividers where a session ended.

import { localDay } from "../dates";
import type { Message } from "../live/messages";
import type { Closing } from "../live/chat_state";

export type ConversationRow =
  | { kind: "day"; key: string; day: string }
  | { kind: "message"; key: string; message: Message }
  | { kind: "divider"; key: string; at: string; closing: Closing | null };

/** Computing the local day is slow, and all rows are needed again for every token. */
const rowCache = new WeakMap<Message, { day: string; row: ConversationRow }>();

export function conversationRows(
  messages: readonly Message[],
  closings: ReadonlyMap<string, Closing>,
  timeZone?: string,
): ConversationRow[] {
  const ends = sessionEnds(messages, closings);
  const result: ConversationRow[] = [];
  let day = "";
  messages.forEach((message, index) => {
    const { day: today, row } = rowCache.get(message) ?? cacheRow(message, timeZone);
    if (today !== day) result.push({ kind: "day", key: `day:${today}:${message.key}`, day: today });
    day = today;
    result.push(row);
    const session = ends.get(index);
    if (session !== undefined) {
      const closing = closings.get(session) ?? null;
      result.push({ kind: "divider", key: `divider:${session}`, at: closing?.at ?? message.at, closing });
    }
  });
  return result;
}

function cacheRow(message: Message, timeZone?: string): { day: string; row: ConversationRow } {
  const row: ConversationRow = { kind: "message", key: message.key, message };
  const entry = { day: localDay(message.at, timeZone), row };
  rowCache.set(message, entry);
  return entry;
}

/**
 * Index of the last message of each session that has ended: known to be closed, or followed by a
 * newer session of its channel. (Channels run side by side, so a change of session alone is not an end.)
 */
function sessionEnds(messages: readonly Message[], closings: ReadonlyMap<string, Closing>): Map<number, string> {
  const last = new Map<string, number>();
  const newest = new Map<string | null, string>();
  messages.forEach((message, index) => {
    if (message.sessionId === null) return;
    // A session's messages are adjacent, except for messages of other channels between them.
    const next = messages[index + 1];
    if (next?.sessionId === message.sessionId && next.channelId === message.channelId) return;
    last.set(message.sessionId, index);
    newest.set(message.channelId, message.sessionId);
  });
  const ends = new Map<number, string>();
  for (const [session, index] of last) {
    const channel = messages[index]?.channelId ?? null;
    if (closings.has(session) || newest.get(channel) !== session) ends.set(index, session);
  }
  return ends;
}

