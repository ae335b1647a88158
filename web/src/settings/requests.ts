import { get, getBytes, patch, post, put, remove, upload } from "../api";
import type { RequestBody } from "../api_types";
import type { Id } from "../wire";
import type { CostRange, SessionRow } from "./types";

export const getConfig = () => get("/api/admin/config");

/** Null restores the default. */
export function changeSetting(key: string, value: unknown) {
  // A key with two dots (`llm.models.small`) is a table in its section.
  const nestedValue = key.split(".").reduceRight<unknown>((inner, name) => ({ [name]: inner }), value);
  return patch("/api/admin/config", nestedValue as RequestBody<"/api/admin/config", "patch">);
}

export const getTokens = () => get("/api/admin/tokens");
export const makeToken = (name: string, scopes: string[], user: string) =>
  post("/api/admin/tokens", { name: name || undefined, scopes, user_id: user || undefined });
export const endToken = (name: string) => remove("/api/admin/tokens/{name}", { name });

export const getLogins = () => get("/api/admin/logins");
/** `current` is this browser's own login. */
export const endLogin = (id: string) => remove("/api/admin/logins/{id}", { id });
export const endLogins = () => remove("/api/admin/logins");

export const getSessions = (status: SessionRow["status"] | null, cursor: Id | null) =>
  get("/api/admin/sessions", { status, cursor, limit: 50 });
export const closeSession = (id: Id) => post("/api/admin/sessions/{id}/close", undefined, { id });
export const retrySession = (id: Id) => post("/api/admin/sessions/{id}/retry", undefined, { id });

/** Without a token, the stored one is used. */
export const setUpChannel = (id: string, token: string) => put("/api/admin/channels/{id}", token ? { token } : {}, { id });
export const switchChannelOff = (id: string) => remove("/api/admin/channels/{id}", { id });
export const createLinkCode = (id: string) => post("/api/admin/channels/{id}/link-code", {}, { id });
export const testChannel = (id: string) => post("/api/admin/channels/{id}/test", undefined, { id });
export const retryUndeliverable = (id: string) => post("/api/admin/channels/{id}/retry", undefined, { id });

export const getDecisions = (cursor: Id | null) =>
  get("/api/admin/proactive", { cursor: cursor === null ? null : String(cursor), limit: 50 });
export const muteProactive = (until: string | null) => post("/api/admin/proactive/mute", { user_id: "self", until });

export const getHubStanding = () => get("/api/sync");
export const exchangeWithHub = () => post("/api/sync/now", undefined);
export const getDaemons = () => get("/api/admin/daemons");
export const getStatus = () => get("/api/admin/status");
export const getCost = (range: CostRange) => get("/api/admin/cost/summary", { range });
export const getAuditEntries = (cursor: Id | null) =>
  get("/api/admin/audit", { cursor: cursor === null ? null : Number(cursor), limit: 50 });

export const getPersona = () => get("/api/admin/persona");
export const savePersona = (fields: RequestBody<"/api/admin/persona", "post">) => post("/api/admin/persona", fields);
export const saveStyle = (text: string) =>
  post("/api/admin/persona/style", text.trim() ? { action: "set", text } : { action: "clear" });
export const saveFacts = (facts: Record<string, string | null>) => patch("/api/admin/persona/facts", { facts });

export const resetPersona = (personaId: string) =>
  post("/api/admin/reset", { persona_id: personaId, confirm: personaId });

const AVATAR = "/api/admin/persona/avatar";
export const getAvatar = () => getBytes(AVATAR);
export const removeAvatar = () => remove(AVATAR);
/** The original file name is not sent. */
export const sendAvatar = (image: Blob, extension: string) => upload(AVATAR, [{ file: image, name: `picture.${extension}` }]);
