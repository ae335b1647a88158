// Requests to the server. Same origin only; they are authenticated by the cookie and the page's key, both from
// /login.

import { credentials } from "./credentials";
import type { ResponseBody, RequestBody, ParamsArgument, Path } from "./api_types";
import { personas } from "./persona.svelte";
import type { HistoryPage, TimelinePage } from "./wire";

/** The server answered with an error. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    /** A sentence for the reader, from the server. */
    readonly detail: string,
    readonly retryAfterSeconds: number | null,
    /** A stable name for the kind of error. */
    readonly code: string | null = null,
  ) {
    super(detail);
  }
}

/** The server did not answer. */
export class NetworkError extends Error {}

/** The server does not have the path, or does not implement it yet. */
export function isNotAvailable(error: unknown): boolean {
  return error instanceof ApiError && [404, 405, 501].includes(error.status);
}

export const get = <P extends Path<"get">>(path: P, ...[fields]: ParamsArgument<P, "get">): Promise<ResponseBody<P, "get">> =>
  request(urlOf(path, fields));

export const post = <P extends Path<"post">>(
  path: P,
  body: RequestBody<P, "post">,
  ...[fields]: ParamsArgument<P, "post">
): Promise<ResponseBody<P, "post">> => request(urlOf(path, fields), { method: "POST", body: JSON.stringify(body ?? {}) });

export const put = <P extends Path<"put">>(
  path: P,
  body: RequestBody<P, "put">,
  ...[fields]: ParamsArgument<P, "put">
): Promise<ResponseBody<P, "put">> => request(urlOf(path, fields), { method: "PUT", body: JSON.stringify(body) });

export const patch = <P extends Path<"patch">>(
  path: P,
  body: RequestBody<P, "patch">,
  ...[fields]: ParamsArgument<P, "patch">
): Promise<ResponseBody<P, "patch">> => request(urlOf(path, fields), { method: "PATCH", body: JSON.stringify(body) });

/** `keepalive`: the request is completed even if the page is closed. */
export const remove = <P extends Path<"delete">>(path: P, ...[fields]: ParamsArgument<P, "delete">): Promise<ResponseBody<P, "delete">> =>
  request(urlOf(path, fields), { method: "DELETE", keepalive: true });

/** A form with files. */
export function upload<P extends Path<"post">>(
  path: P,
  files: { file: Blob; name: string; modified?: number }[],
  named: string[] = [],
): Promise<ResponseBody<P, "post">> {
  const form = new FormData();
  for (const { file, name, modified } of files) {
    if (modified) form.append("modified", String(modified));
    form.append("file", file, name);
  }
  for (const field of named) form.append("field", field);
  return request(urlOf(path), { method: "POST", body: form });
}

/** A response that is not JSON, such as an image. */
export const getBytes = <P extends Path<"get">>(path: P, ...[fields]: ParamsArgument<P, "get">): Promise<Blob> =>
  fetchOk(urlOf(path, fields)).then((response) => response.blob());

/** A URL for an element's `src`. Another `seen` makes the browser load it again. */
export const urlFor = (path: Path<"get">, seen: number): string => urlOf(path, { seen });

export const getState = () => get("/api/state");
export const getPersona = () => get("/api/admin/persona");
/** Turns without a reply, of all users. */
export const getFailedTurns = () =>
  get("/api/admin/work/failed", { limit: 50 }).then(({ items }) => items.filter((item) => item.kind === "turn"));
/** The hub's own instance and its open conflicts. */
/** An existing zone is not changed. */
export const offerTimezone = (timezone: string) => post("/api/admin/users/timezone", { timezone });
export const getHubStatus = () => get("/api/hub/status");
export const getPersonas = () => get("/api/admin/personas").then((answer) => answer.personas);

/** Where a list continues: a query parameter and its value. */
export interface Cursor {
  name: "cursor" | "before" | "since";
  value: string;
}

export const PAGE_SIZE = 50;
/** The largest page that the server returns. */
export const PAGE_SIZE_MAX = 200;

/** Fetches all pages of a list. */
export async function fetchAllPages<Page extends { next_cursor: string | null }, Row>(
  fetchPage: (cursor: string | null) => Promise<Page>,
  rowsOf: (page: Page) => Row[],
): Promise<Row[]> {
  const all: Row[] = [];
  let cursor: string | null = null;
  do {
    const page: Page = await fetchPage(cursor);
    all.push(...rowsOf(page));
    cursor = page.next_cursor;
  } while (cursor !== null);
  return all;
}

export function getHistory(from: Cursor | null, limit = PAGE_SIZE): Promise<HistoryPage> {
  return get("/api/chat/history", { limit, ...(from && { [from.name]: from.value }) });
}

export function getTimeline(from: Cursor | null): Promise<TimelinePage> {
  return get("/api/admin/memory/timeline", { limit: PAGE_SIZE, ...(from && { [from.name]: from.value }) });
}

export const getReceipt = (turnId: string) => get("/api/chat/turns/{id}/receipt", { id: turnId });

export const send = (content: string, externalRef: string, recordingId: string | null) =>
  post("/api/chat/send", { content, external_ref: externalRef, recording_id: recordingId, ...persona() });

export const reportTyping = (typing: boolean) => post("/api/chat/typing", { typing, ...persona() });

/** Retries the reply of a failed turn. */
export const retryTurn = (turnId: string) => post("/api/chat/turns/{id}/retry", undefined, { id: turnId });

/** Stops a reply that is being written; its text so far is stored. */
export const stopTurn = (turnId: string) => post("/api/chat/stop", { turn_id: turnId });

/** Requests another reply to the last turn; the old one stays until the new one is complete. */
export const regenerate = (turnId: string) => post("/api/chat/regenerate", { turn_id: turnId });

export const editMessage = (id: string, content: string) => patch("/api/chat/messages/{id}", { content }, { id });

export const deleteMessage = (id: string, choice: "orphan" | "cascade") =>
  remove("/api/admin/memory/messages/{id}", { id, choice });

/** The selected persona, for request bodies; empty for the default one. */
export function persona(): { persona_id?: string } {
  return personas.selectedId === null ? {} : { persona_id: personas.selectedId };
}

/** Fills in the path parameters and appends the others as the query. */
function urlOf(path: string, fields: object = {}): string {
  const remaining = new Map(Object.entries({ ...persona(), ...fields }));
  const filledPath = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = remaining.get(name);
    remaining.delete(name);
    return encodeURIComponent(String(value));
  });
  const queryFields = [...remaining].filter(([, value]) => value !== null && value !== undefined);
  return queryFields.length ? `${filledPath}?${new URLSearchParams(queryFields.map(([name, value]) => [name, String(value)]))}` : filledPath;
}

/** Time after which the URL of a download is released. The browser must have started to read it by then. */
const RELEASE_AFTER_MS = 60_000;

/** Fetches a file from the server and gives it to the browser as a download. */
export async function download(path: string, fallbackName: string): Promise<void> {
  const response = await fetchOk(path);
  const name = /filename="([^"]+)"/.exec(response.headers.get("Content-Disposition") ?? "")?.[1];
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await response.blob());
  link.download = name ?? fallbackName;
  document.body.append(link);
  link.click();
  link.remove();
  // The browser reads the blob after the click.
  setTimeout(() => URL.revokeObjectURL(link.href), RELEASE_AFTER_MS);
}

/** Opens an event stream. Throws if the server rejects it. */
export async function openStream(path: string, signal: AbortSignal): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
  const { body } = await fetchOk(path, { headers: { ...credentials(), Accept: "text/event-stream" }, signal });
  if (!body) throw new NetworkError();
  return body;
}

export async function fetchOk(path: string, init: RequestInit = {}): Promise<Response> {
  let response: Response;
  try {
    const headers: Record<string, string> = credentials();
    // The browser sets the content type of a form, with its boundary.
    if (typeof init.body === "string") headers["Content-Type"] = "application/json";
    response = await fetch(path, { credentials: "same-origin", headers, ...init });
  } catch {
    throw new NetworkError();
  }
  if (!response.ok) throw await toApiError(response);
  return response;
}

async function request<ResponseBody>(path: string, init: RequestInit = {}): Promise<ResponseBody> {
  const response = await fetchOk(path, init);
  // A response that is not JSON does not come from the API.
  const body: unknown = await response.json().catch(() => {
    throw new ApiError(501, `${path.split("?")[0]}: no JSON`, null);
  });
  return body as ResponseBody;
}

async function toApiError(response: Response): Promise<ApiError> {
  const body: unknown = await response.json().catch(() => null);
  const { detail, code } = (body ?? {}) as { detail?: unknown; code?: unknown };
  const retryAfter = Number.parseInt(response.headers.get("Retry-After") ?? "", 10);
  return new ApiError(
    response.status,
    typeof detail === "string" ? detail : `${response.status} ${response.statusText}`.trim(),
    Number.isNaN(retryAfter) ? null : retryAfter,
    typeof code === "string" ? code : null,
  );
}
