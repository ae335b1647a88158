import { get, patch, persona, post, remove } from "../api";
import type { RequestBody } from "../api_types";
import type { Id } from "../wire";
import type { Choice, ToErase } from "./types";

const PAGE_SIZE = 50;

export type NodeList = "events" | "thoughts" | "intentions" | "expectations";
export const isNodeList = (tab: string): tab is NodeList => ["events", "thoughts", "intentions", "expectations"].includes(tab);

export const getNodes = (list: NodeList, cursor: Id | null, limit = PAGE_SIZE) =>
  get(`/api/admin/memory/${list}`, { limit, cursor });
export const getEntities = (cursor: Id | null, limit = PAGE_SIZE) => get("/api/admin/memory/entities", { limit, cursor });
export const getRejected = () => get("/api/admin/memory/rejected");
export const getReceipts = (cursor: Id | null) => get("/api/admin/memory/receipts", { limit: PAGE_SIZE, cursor });
export const search = (q: string) => get("/api/admin/memory/search", { q, limit: PAGE_SIZE });
/** Messages that contain the words, the best first. */
export const searchMessages = (q: string, cursor: string) =>
  get("/api/admin/memory/search", { q, type: "messages", limit: PAGE_SIZE, cursor });
export const recall = (text: string) => post("/api/admin/memory/recall", { text, ...persona() });

export const getHistory = (id: Id) => get("/api/admin/memory/nodes/{id}/history", { id });
export const correct = (id: Id, text: string) => patch("/api/admin/memory/nodes/{id}", { text }, { id });
export const pin = (id: Id, pinned: boolean) => patch("/api/admin/memory/nodes/{id}", { pinned }, { id });
export const undoCorrection = (id: Id) => post("/api/admin/memory/nodes/{id}/undo", undefined, { id });

/** The thoughts that cite an event. */
export const getDependents = (id: Id) =>
  get("/api/admin/memory/events/{id}/dependents", { id }).then((answer) => answer.dependent_thoughts);
export const getSources = (id: Id) =>
  get("/api/admin/memory/thoughts/{id}/trace", { id }).then((answer) => answer.source_events);

export const previewDelete = (id: Id) => post("/api/admin/memory/preview-delete", { node_id: id });

/** `silence`: also silences the text that is its evidence. */
export function deleteNode(id: Id, type: string, choice: Choice, silence = false): Promise<unknown> {
  const list = type === "thought" || type === "expectation" ? "thoughts" : "events";
  return remove(`/api/admin/memory/${list}/{id}`, { id, choice, silence });
}

export const erase = (asked: ToErase) => post("/api/admin/memory/erase", { ...asked, ...persona() });

export const approve = (id: Id) => post("/api/admin/memory/rejected/{id}/approve", {}, { id });
export const dismiss = (id: Id) => post("/api/admin/memory/rejected/{id}/dismiss", undefined, { id });

export const describeEntity = (id: Id, description: string) =>
  patch("/api/admin/memory/entities/{id}", { description }, { id });
export const mergeEntities = (id: Id, target: Id) =>
  post("/api/admin/memory/entities/{id}/merge", { target_id: target }, { id });
export const keepApart = (id: Id, other: Id) =>
  post("/api/admin/memory/entities/{id}/confirm-separate", { other_id: other }, { id });
export const undoEntity = (id: Id) => post("/api/admin/memory/entities/{id}/undo", undefined, { id });

/** Newest first. */
export const getConflicts = (all: boolean, cursor: Id | null) => get("/api/hub/conflicts", { all, cursor, limit: PAGE_SIZE });

/** `content` replaces both versions in a merge. */
export const resolveConflict = (id: Id, resolution: RequestBody<"/api/hub/conflicts/{id}", "post">["resolution"], content: string | null) =>
  post("/api/hub/conflicts/{id}", { resolution, content }, { id });
