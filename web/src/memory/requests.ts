import { get, patch, persona, post, remove } from "../api";
import type { Id } from "../wire";
import type {
  DeletePreview,
  Entity,
  EntityPage,
  ErasureReceipt,
  MemoryNode,
  NodePage,
  NodeVersion,
  RecallAnswer,
  Rejected,
  SearchPage,
  TraceNode,
} from "./shapes";

const MEMORY = "/api/admin/memory";
const PAGE = 50;
const of = (id: Id) => encodeURIComponent(String(id));

export type NodeList = "events" | "thoughts";

export const getNodes = (list: NodeList, cursor: Id | null, limit = PAGE) =>
  get<NodePage>(`${MEMORY}/${list}`, { limit, cursor });
export const getEntities = (cursor: Id | null, limit = PAGE) => get<EntityPage>(`${MEMORY}/entities`, { limit, cursor });
export const getRejected = () => get<{ rejected: Rejected[] }>(`${MEMORY}/rejected`);
export const getReceipts = (cursor: Id | null) =>
  get<{ receipts: ErasureReceipt[]; next_cursor: Id | null }>(`${MEMORY}/receipts`, { limit: PAGE, cursor });
export const search = (q: string) => get<SearchPage>(`${MEMORY}/search`, { q, limit: PAGE });
export const recall = (text: string) => post<RecallAnswer>(`${MEMORY}/recall`, { text, ...persona() });

export const getHistory = (id: Id) => get<{ versions: NodeVersion[] }>(`${MEMORY}/nodes/${of(id)}/history`);
export const correct = (id: Id, text: string) => patch<MemoryNode>(`${MEMORY}/nodes/${of(id)}`, { text });
export const pin = (id: Id, pinned: boolean) => patch<MemoryNode>(`${MEMORY}/nodes/${of(id)}`, { pinned });
export const undoCorrection = (id: Id) => post<{ node: MemoryNode }>(`${MEMORY}/nodes/${of(id)}/undo`);

/** What rests on an event, or on what a thought rests. */
export const getDependents = (id: Id) =>
  get<{ dependent_thoughts: TraceNode[] }>(`${MEMORY}/events/${of(id)}/dependents`).then((a) => a.dependent_thoughts);
export const getSources = (id: Id) =>
  get<{ source_events: TraceNode[] }>(`${MEMORY}/thoughts/${of(id)}/trace`).then((a) => a.source_events);

export const previewDelete = (id: Id) => post<DeletePreview>(`${MEMORY}/preview-delete`, { node_id: id });

export type Choice = "orphan" | "cascade";

export function deleteNode(id: Id, type: string, choice: Choice): Promise<unknown> {
  const list = type === "thought" || type === "expectation" ? "thoughts" : "events";
  return remove(`${MEMORY}/${list}/${of(id)}`, { choice });
}

export interface ToErase {
  message_ids?: Id[];
  event_ids?: Id[];
  session_ids?: Id[];
  entity_ids?: Id[];
  text?: string;
  include_messages?: boolean;
  choice?: Choice;
  dry_run?: boolean;
  confirm?: Id;
}

export const erase = (asked: ToErase) => post<ErasureReceipt>(`${MEMORY}/erase`, { ...asked, ...persona() });

export const approve = (id: Id) => post<{ node_id: Id }>(`${MEMORY}/rejected/${of(id)}/approve`);
export const dismiss = (id: Id) => post<unknown>(`${MEMORY}/rejected/${of(id)}/dismiss`);

export const describeEntity = (id: Id, description: string) =>
  patch<Entity>(`${MEMORY}/entities/${of(id)}`, { description });
export const mergeEntities = (id: Id, target: Id) => post<unknown>(`${MEMORY}/entities/${of(id)}/merge`, { target_id: target });
export const keepApart = (id: Id, other: Id) =>
  post<unknown>(`${MEMORY}/entities/${of(id)}/confirm-separate`, { other_id: other });
export const undoEntity = (id: Id) => post<unknown>(`${MEMORY}/entities/${of(id)}/undo`);
