// Requests to the daemon. Same origin only; the cookie that /login set is the credential.

import type { HistoryPage, PersonaAnswer, ReceiptAnswer, SendAnswer, StateAnswer, TimelinePage } from "./wire";

/** The daemon answered, and it was no. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    /** Written for a person, by the daemon. */
    readonly detail: string,
    readonly retryAfterSeconds: number | null,
  ) {
    super(detail);
  }
}

/** The daemon did not answer. */
export class Unreachable extends Error {}

export const getState = () => request<StateAnswer>("/api/state");
export const getPersona = () => request<PersonaAnswer>("/api/admin/persona");

/** Where a list continues: the name of the query parameter and its value. */
export interface Cursor {
  name: "cursor" | "before" | "since";
  value: string;
}

export const getHistory = (from: Cursor | null) => request<HistoryPage>(`/api/chat/history?${page(from)}`);
export const getTimeline = (from: Cursor | null) => request<TimelinePage>(`/api/admin/memory/timeline?${page(from)}`);

export function getReceipt(turnId: string): Promise<ReceiptAnswer> {
  return request(`/api/chat/turns/${encodeURIComponent(turnId)}/receipt`);
}

export function send(content: string, externalRef: string): Promise<SendAnswer> {
  return request("/api/chat/send", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ content, external_ref: externalRef }),
  });
}

/** Asks again for the reply of a turn that failed. */
export function retryTurn(turnId: string): Promise<unknown> {
  return request(`/api/chat/turns/${encodeURIComponent(turnId)}/retry`, { method: "POST" });
}

function page(from: Cursor | null): URLSearchParams {
  return new URLSearchParams({ limit: "50", ...(from && { [from.name]: from.value }) });
}

async function request<Answer>(path: string, init: RequestInit = {}): Promise<Answer> {
  let response: Response;
  try {
    response = await fetch(path, { credentials: "same-origin", ...init });
  } catch {
    throw new Unreachable();
  }
  if (!response.ok) throw await refusal(response);
  return (await response.json()) as Answer;
}

async function refusal(response: Response): Promise<Refused> {
  const body: unknown = await response.json().catch(() => null);
  const detail = (body as { detail?: unknown } | null)?.detail;
  const retryAfter = Number.parseInt(response.headers.get("Retry-After") ?? "", 10);
  return new Refused(
    response.status,
    typeof detail === "string" ? detail : `${response.status} ${response.statusText}`.trim(),
    Number.isNaN(retryAfter) ? null : retryAfter,
  );
}
