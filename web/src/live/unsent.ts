// Messages that the server has not accepted yet. This browser stores them, so that a reload does not lose them.

import { readItem, writeItem } from "../storage";
import type { HistoryItem } from "../wire";
import { withSending, withUnsent, type Message } from "./messages";

export interface UnsentMessage {
  externalRef: string;
  text: string;
  /** RFC 3339, UTC. */
  at: string;
}

/** Maximum difference between the clocks of the browser and the server. */
const CLOCK_DIFFERENCE_MS = 60_000;

const itemName = (personaId: string | null) => `unsent.${personaId ?? ""}`;

function loadUnsent(personaId: string | null): UnsentMessage[] {
  try {
    const stored: unknown = JSON.parse(readItem(itemName(personaId)) ?? "[]");
    return Array.isArray(stored) ? stored.filter(isUnsentMessage) : [];
  } catch {
    return [];
  }
}

/** Includes messages that are being sent: it is unknown if they arrived until there is a response. */
export function storeUnsent(personaId: string | null, messages: readonly Message[]): void {
  const unsent = messages.flatMap(({ delivery, externalRef, text, at }) =>
    externalRef !== null && (delivery === "unsent" || delivery === "sending") ? [{ externalRef, text, at }] : [],
  );
  writeItem(itemName(personaId), unsent.length ? JSON.stringify(unsent) : null);
}

/** Adds messages that an earlier visit could not send. */
export function withStoredUnsent(
  messages: readonly Message[],
  history: readonly HistoryItem[],
  personaId: string | null,
): Message[] {
  const known = new Set(messages.map((m) => m.externalRef));
  const unsent = withoutStored(history, loadUnsent(personaId)).filter(({ externalRef }) => !known.has(externalRef));
  const failure = { reason: "", retryable: true };
  return unsent.reduce<Message[]>(
    (held, { externalRef, text, at }) => withUnsent(withSending(held, externalRef, text, at), externalRef, failure),
    [...messages],
  );
}

/** Without messages that are in the history: they arrived, only the response was lost. */
function withoutStored(history: readonly HistoryItem[], unsent: readonly UnsentMessage[]): UnsentMessage[] {
  const wasStored = ({ text, at }: UnsentMessage) =>
    history.some(
      (item) =>
        item.role === "user" &&
        item.content === text &&
        Date.parse(item.created_at ?? "") >= Date.parse(at) - CLOCK_DIFFERENCE_MS,
    );
  return unsent.filter((message) => !wasStored(message));
}

function isUnsentMessage(value: unknown): value is UnsentMessage {
  const fields = value as Partial<Record<keyof UnsentMessage, unknown>> | null;
  return [fields?.externalRef, fields?.text, fields?.at].every((field) => typeof field === "string");
}
