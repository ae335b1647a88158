// Requests about users and who they are on other channels.

import { get, patch, post, Refused, remove } from "../api";
import { USER_ID } from "../live/room";

export interface Identity {
  channel_id: string;
  external_id: string;
}

export interface User {
  id: string;
  display_name: string | null;
  timezone: string | null;
  created_at: string | null;
  identities: Identity[];
}

interface UserPage {
  users: User[];
  next_cursor: string | null;
}

const USERS = "/api/admin/users";
const at = (id: string) => `${USERS}/${encodeURIComponent(id)}`;

/** By id; the owner, who may not have said anything yet, is there from the beginning. */
export async function getUsers(cursor: string | null): Promise<UserPage> {
  const page = await get<UserPage>(USERS, { limit: 50, cursor });
  if (cursor !== null) return page;
  const owner = page.users.find((user) => user.id === USER_ID) ?? (await getUser(USER_ID));
  return { ...page, users: [owner, ...page.users.filter((user) => user.id !== USER_ID)] };
}

async function getUser(id: string): Promise<User> {
  try {
    return await get<User>(at(id));
  } catch (error) {
    if (!isNobody(error)) throw error;
    return { id, display_name: null, timezone: null, created_at: null, identities: [] };
  }
}

const isNobody = (error: unknown) => error instanceof Refused && error.status === 404;

export const makeUser = (id: string, name: string, timezone: string) =>
  post<User>(USERS, { id, display_name: name || undefined, timezone: timezone || undefined });

/** One who is not kept yet is made by being named. */
async function ensured<Answer>(user: User, run: () => Promise<Answer>): Promise<Answer> {
  if (user.created_at === null) await makeUser(user.id, "", "").catch(() => undefined);
  return run();
}

export const nameUser = (user: User, name: string) =>
  ensured(user, () => patch<User>(at(user.id), { display_name: name || null }));

export const setUserZone = (user: User, timezone: string) =>
  post<{ timezone: string }>(`${USERS}/timezone`, { timezone, override: true }, { user_id: user.id });

export const linkIdentity = (user: User, identity: Identity) =>
  ensured(user, () => post<unknown>(`${at(user.id)}/identities`, identity));

export const unlinkIdentity = (user: User, { channel_id, external_id }: Identity) =>
  remove<unknown>(`${at(user.id)}/identities`, { channel_id, external_id });

export const getChannels = () =>
  get<{ channels: { channel_id: string; name: string }[] }>("/api/admin/channels").then(({ channels }) => channels);
