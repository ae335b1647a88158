// Requests about users and their accounts on other channels.

import { get, patch, post, ApiError, remove } from "../api";
import type { ResponseBody } from "../api_types";
import { USER_ID } from "../live/chat_state";

export type Identity = User["identities"][number];
/** `created_at` is null for a user that is not stored yet. */
export type User = Omit<ResponseBody<"/api/admin/users">["users"][number], "created_at"> & { created_at: string | null };

/** By id. The owner is listed first, stored or not. */
export async function getUsers(cursor: string | null): Promise<{ users: User[]; next_cursor: string | null }> {
  const page = await get("/api/admin/users", { limit: 50, cursor });
  if (cursor !== null) return page;
  const owner = page.users.find((user) => user.id === USER_ID) ?? (await getUser(USER_ID));
  return { ...page, users: [owner, ...page.users.filter((user) => user.id !== USER_ID)] };
}

/** A user that is not stored yet has no name and no zone. */
export async function getUser(id: string): Promise<User> {
  try {
    return await get("/api/admin/users/{id}", { id });
  } catch (error) {
    if (!isNotFound(error)) throw error;
    return { id, display_name: null, timezone: null, created_at: null, identities: [] };
  }
}

const isNotFound = (error: unknown) => error instanceof ApiError && error.status === 404;

export const makeUser = (id: string, name: string, timezone: string) =>
  post("/api/admin/users", { id, display_name: name || undefined, timezone: timezone || undefined });

/** Creates a user that is not stored yet. */
async function withUser<ResponseBody>(user: User, run: () => Promise<ResponseBody>): Promise<ResponseBody> {
  if (user.created_at === null) await makeUser(user.id, "", "").catch(() => undefined);
  return run();
}

export const nameUser = (user: User, name: string) =>
  withUser(user, () => patch("/api/admin/users/{id}", { display_name: name || null }, { id: user.id }));

/** An empty zone removes the one that is set. */
export const setUserZone = (user: User, timezone: string) =>
  withUser(user, () => patch("/api/admin/users/{id}", { timezone: timezone || null }, { id: user.id }));

export const linkIdentity = (user: User, identity: Identity) =>
  withUser(user, () => post("/api/admin/users/{id}/identities", identity, { id: user.id }));

export const unlinkIdentity = (user: User, { channel_id, external_id }: Identity) =>
  remove("/api/admin/users/{id}/identities", { id: user.id, channel_id, external_id });

export const getChannels = () => get("/api/admin/channels");
