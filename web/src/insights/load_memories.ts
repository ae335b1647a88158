// Loads the memories and names for the graph and the year, newest first, up to a limit.

import { getEntities, getNodes, type NodeList } from "../memory/requests";
import type { Entity, MemoryNode } from "../memory/types";
import type { Id } from "../wire";

/** Maximum memories of a kind, and maximum names, to load. */
export const MEMORIES_MAX = 1_000;
const PAGE_SIZE = 100;

export interface MemorySet {
  nodes: MemoryNode[];
  entities: Entity[];
  /** True if there are more than were loaded. */
  cut: boolean;
}

export async function loadMemories(): Promise<MemorySet> {
  const [events, thoughts, entities] = await Promise.all([
    loadPages((cursor) => nodes("events", cursor)),
    loadPages((cursor) => nodes("thoughts", cursor)),
    loadPages((cursor) => getEntities(cursor, PAGE_SIZE).then((page) => ({ items: page.entities, next: page.next_cursor }))),
  ]);
  return {
    nodes: [...events.items, ...thoughts.items],
    entities: entities.items,
    cut: events.cut || thoughts.cut || entities.cut,
  };
}

const nodes = (list: NodeList, cursor: Id | null) =>
  getNodes(list, cursor, PAGE_SIZE).then((page) => ({ items: page.items, next: page.next_cursor }));

async function loadPages<Item>(
  fetch: (cursor: Id | null) => Promise<{ items: Item[]; next: Id | null | undefined }>,
): Promise<{ items: Item[]; cut: boolean }> {
  let items: Item[] = [];
  let cursor: Id | null = null;
  do {
    const page: { items: Item[]; next: Id | null | undefined } = await fetch(cursor);
    items = [...items, ...page.items];
    cursor = page.items.length > 0 ? (page.next ?? null) : null;
  } while (cursor !== null && items.length < MEMORIES_MAX);
  return { items: items.slice(0, MEMORIES_MAX), cut: cursor !== null || items.length > MEMORIES_MAX };
}
