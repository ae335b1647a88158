// How a list of messages becomes what is read: days, messages, and rules where a session closed.

import type { Message } from "./live/conversation";
import type { Closing } from "./live/room";

export type Line =
  | { kind: "day"; key: string; day: string }
  | { kind: "message"; key: string; message: Message }
  | { kind: "rule"; key: string; closing: Closing | null };

/** Finding the day of a moment is dear, and every token asks for all lines again. */
const known = new WeakMap<Message, { day: string; line: Line }>();

/** `YYYY-MM-DD` in the reader's zone. */
export function localDay(at: string, timeZone?: string): string {
  return dayFormat(timeZone).format(new Date(at));
}

export function lines(
  messages: readonly Message[],
  closings: ReadonlyMap<string, Closing>,
  timeZone?: string,
): Line[] {
  const ends = sessionEnds(messages, closings);
  const result: Line[] = [];
  let day = "";
  messages.forEach((message, index) => {
    const { day: today, line } = known.get(message) ?? remembered(message, timeZone);
    if (today !== day) result.push({ kind: "day", key: `day:${today}:${message.key}`, day: today });
    day = today;
    result.push(line);
    const session = ends.get(index);
    if (session !== undefined) {
      result.push({ kind: "rule", key: `rule:${session}`, closing: closings.get(session) ?? null });
    }
  });
  return result;
}

function remembered(message: Message, timeZone?: string): { day: string; line: Line } {
  const line: Line = { kind: "message", key: message.key, message };
  const entry = { day: localDay(message.at, timeZone), line };
  known.set(message, entry);
  return entry;
}

/**
 * Index of the last message of each session that is over: known to be closed, or followed by a
 * newer session of its channel. (Channels run side by side, so a mere change of session is no end.)
 */
function sessionEnds(messages: readonly Message[], closings: ReadonlyMap<string, Closing>): Map<number, string> {
  const last = new Map<string, number>();
  const newest = new Map<string | null, string>();
  messages.forEach((message, index) => {
    if (message.sessionId === null) return;
    // A session's messages stand together, but for what other channels say between them.
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

export function dayLabel(
  day: string,
  today: string,
  locale: string,
  words: { today: string; yesterday: string },
): string {
  const date = new Date(`${day}T12:00:00Z`);
  const distance = Math.round((Date.parse(`${today}T12:00:00Z`) - date.getTime()) / 86_400_000);
  if (distance === 0) return words.today;
  if (distance === 1) return words.yesterday;
  const sameYear = day.slice(0, 4) === today.slice(0, 4);
  return formatter(locale, {
    timeZone: "UTC",
    weekday: distance > 0 && distance < 7 ? "long" : undefined,
    month: "long",
    day: "numeric",
    year: sameYear ? undefined : "numeric",
  }).format(date);
}

export function timeLabel(at: string, locale: string): string {
  return formatter(locale, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" }).format(new Date(at));
}

export function dateTimeLabel(at: string, locale: string): string {
  return formatter(locale, { dateStyle: "medium", timeStyle: "short" }).format(new Date(at));
}

function dayFormat(timeZone?: string): Intl.DateTimeFormat {
  // Canadian English writes a date as YYYY-MM-DD.
  return formatter("en-CA", { timeZone, year: "numeric", month: "2-digit", day: "2-digit" });
}

// Making a formatter costs far more than using one, and every token redraws.
const formatters = new Map<string, Intl.DateTimeFormat>();

function formatter(locale: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const name = locale + JSON.stringify(options);
  const made = formatters.get(name) ?? new Intl.DateTimeFormat(locale, options);
  formatters.set(name, made);
  return made;
}
