// Requests to the daemon. Same origin only; the cookie that /login set is the credential.

import { chosen, type PersonaName } from "./persona.svelte";
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

/** This daemon does not know the path, or does not do it yet. */
export function isNotAvailable(error: unknown): boolean {
  return error instanceof Refused && [404, 405, 501].includes(error.status);
}

export type Query = Record<string, string | number | null | undefined>;

export const get = <Answer>(path: string, query: Query = {}): Promise<Answer> => request(path + asked(query));

export function post<Answer>(path: string, body: object = {}, query: Query = {}): Promise<Answer> {
  return request(path + asked(query), { method: "POST", body: JSON.stringify(body) });
}

export function patch<Answer>(path: string, body: object): Promise<Answer> {
  return request(path + asked({}), { method: "PATCH", body: JSON.stringify(body) });
}

export function put<Answer>(path: string, body: object): Promise<Answer> {
  return request(path + asked({}), { method: "PUT", body: JSON.stringify(body) });
}

/** A form with one file. */
export function upload<Answer>(path: string, file: Blob, name: string): Promise<Answer> {
  const form = new FormData();
  form.append("file", file, name);
  return request(path + asked({}), { method: "POST", body: form });
}

/** What is no JSON, such as a picture. */
export const getBytes = (path: string, query: Query = {}): Promise<Blob> =>
  answered(path + asked(query)).then((response) => response.blob());

/** An address that an element fetches by itself, for the persona that the reader chose. */
export const addressOf = (path: string, query: Query = {}): string => path + asked(query);

export function remove<Answer>(path: string, query: Query = {}): Promise<Answer> {
  // What was to be forgotten is forgotten also when the page is left meanwhile.
  return request(path + asked(query), { method: "DELETE", keepalive: true });
}

export const getState = () => get<StateAnswer>("/api/state");
export const getPersona = () => get<PersonaAnswer>("/api/admin/persona");

export async function getPersonas(): Promise<PersonaName[]> {
  const answer = await get<{ personas?: PersonaName[]; items?: PersonaName[] }>("/api/admin/personas");
  return answer.personas ?? answer.items ?? [];
}

/** Where a list continues: the name of the query parameter and its value. */
export interface Cursor {
  name: "cursor" | "before" | "since";
  value: string;
}

export const PAGE = 50;

export function getHistory(from: Cursor | null, limit = PAGE): Promise<HistoryPage> {
  return get("/api/chat/history", { limit, ...(from && { [from.name]: from.value }) });
}

export function getTimeline(from: Cursor | null): Promise<TimelinePage> {
  return get("/api/admin/memory/timeline", { limit: PAGE, ...(from && { [from.name]: from.value }) });
}

export const getReceipt = (turnId: string) => get<ReceiptAnswer>(`/api/chat/turns/${encodeURIComponent(turnId)}/receipt`);

export const send = (content: string, externalRef: string) =>
  post<SendAnswer>("/api/chat/send", { content, external_ref: externalRef, ...persona() });

/** Asks again for the reply of a turn that failed. */
export const retryTurn = (turnId: string) => post<unknown>(`/api/chat/turns/${encodeURIComponent(turnId)}/retry`);

/** Ends a reply that is being written; what was said is kept. */
export const stopTurn = (turnId: string) => post<unknown>("/api/chat/stop", { turn_id: turnId });

/** Asks for another reply to the last turn; the old one stands until the new one is there. */
export const regenerate = (turnId: string) => post<unknown>("/api/chat/regenerate", { turn_id: turnId });

export const editMessage = (id: string, content: string) =>
  patch<{ withdrawn: string[]; extracted_again: string | null }>(`/api/chat/messages/${encodeURIComponent(id)}`, { content });

export const deleteMessage = (id: string, choice: "orphan" | "cascade") =>
  remove<unknown>(`/api/admin/memory/messages/${encodeURIComponent(id)}`, { choice });

/** The persona that the reader chose, for bodies; the daemon's own one needs no word. */
export function persona(): { persona_id?: string } {
  return chosen.personaId === null ? {} : { persona_id: chosen.personaId };
}

function asked(query: Query): string {
  const fields = Object.entries({ ...persona(), ...query }).filter(([, value]) => value !== null && value !== undefined);
  return fields.length ? `?${new URLSearchParams(fields.map(([name, value]) => [name, String(value)]))}` : "";
}

async function answered(path: string, init: RequestInit = {}): Promise<Response> {
  let response: Response;
  try {
    // A form names its own type, with the mark between its parts.
    const headers = typeof init.body === "string" ? { "Content-Type": "application/json" } : undefined;
    response = await fetch(path, { credentials: "same-origin", headers, ...init });
  } catch {
    throw new Unreachable();
  }
  if (!response.ok) throw await refusal(response);
  return response;
}

async function request<Answer>(path: string, init: RequestInit = {}): Promise<Answer> {
  const response = await answered(path, init);
  // An answer that is not JSON comes from something that is not the daemon's API.
  const body: unknown = await response.json().catch(() => {
    throw new Refused(501, `${path.split("?")[0]}: no JSON`, null);
  });
  return body as Answer;
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
