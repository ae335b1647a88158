import { get, getBytes, patch, post, remove, upload } from "../api";
import type { Id, PersonaAnswer } from "../wire";
import type { Act, ConfigAnswer, ConfigChange, CostSummary, SessionRow, Status, Token } from "./shapes";

const ADMIN = "/api/admin";

export const getConfig = () => get<ConfigAnswer>(`${ADMIN}/config`);

/** Null sets the default. */
export function changeSetting(key: string, value: unknown): Promise<ConfigChange> {
  // A key of two dots (`llm.models.small`) is a table within its section.
  const nested = key.split(".").reduceRight<unknown>((inner, name) => ({ [name]: inner }), value);
  return patch(`${ADMIN}/config`, nested as object);
}

export const getTokens = () => get<{ tokens: Token[] }>(`${ADMIN}/tokens`);
export const makeToken = (name: string, scopes: string[], user: string) =>
  post<Token & { token: string }>(`${ADMIN}/tokens`, { name: name || undefined, scopes, user_id: user || undefined });
export const endToken = (name: string) => remove<unknown>(`${ADMIN}/tokens/${encodeURIComponent(name)}`);

export const getSessions = (status: string | null, cursor: Id | null) =>
  get<{ sessions: SessionRow[]; next_cursor?: Id | null }>(`${ADMIN}/sessions`, { status, cursor, limit: 50 });
export const closeSession = (id: Id) => post<unknown>(`${ADMIN}/sessions/${encodeURIComponent(String(id))}/close`);
export const retrySession = (id: Id) => post<unknown>(`${ADMIN}/sessions/${encodeURIComponent(String(id))}/retry`);

export const getStatus = () => get<Status>(`${ADMIN}/status`);
export const getCost = (range: string) => get<CostSummary>(`${ADMIN}/cost/summary`, { range });
export const getActs = (cursor: Id | null) =>
  get<{ items: Act[]; next_cursor: Id | null }>(`${ADMIN}/audit`, { cursor, limit: 50 });

export const getPersona = () => get<PersonaAnswer>(`${ADMIN}/persona`);
export const savePersona = (fields: { display_name?: string; persona_block?: string; user_block?: string }) =>
  post<unknown>(`${ADMIN}/persona`, fields);
export const saveStyle = (text: string) =>
  post<unknown>(`${ADMIN}/persona/style`, text.trim() ? { action: "set", text } : { action: "clear" });
export const saveFacts = (facts: Record<string, string | null>) => patch<unknown>(`${ADMIN}/persona/facts`, { facts });
export const saveTimezone = (timezone: string) =>
  post<{ timezone: string }>(`${ADMIN}/users/timezone`, { timezone, override: true });

export const resetPersona = (personaId: string) =>
  post<unknown>(`${ADMIN}/reset`, { persona_id: personaId, confirm: personaId });

const AVATAR = `${ADMIN}/persona/avatar`;
export const getAvatar = () => getBytes(AVATAR);
export const removeAvatar = () => remove<unknown>(AVATAR);
/** Its own name is nobody's business. */
export const sendAvatar = (image: Blob, extension: string) => upload<unknown>(AVATAR, image, `picture.${extension}`);
