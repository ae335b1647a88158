// What the daemon says about memory.

import type { Answer, Body, Schema } from "../contract";

export type NodeKind = Schema<"NodeKind">;
export type MemoryNode = Schema<"Node">;
export type Entity = Schema<"Entity">;
export type Rejected = Schema<"RejectedMemory">;
export type NodeVersion = Schema<"NodeVersion">;
export type RecallAnswer = Schema<"Recalled">;
export type ErasureReceipt = Schema<"ErasureReceipt">;
export type ErasurePreview = Schema<"ErasureAnswer">;
/** What is to be erased. */
export type ToErase = Body<"/api/admin/memory/erase", "post">;
export type Choice = Schema<"Choice">;

/** A memory named beside another. */
export type TraceNode = Answer<"/api/admin/memory/events/{id}/dependents">["dependent_thoughts"][number];
export type DeletePreview = Answer<"/api/admin/memory/preview-delete", "post">;
