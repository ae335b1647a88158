// What the daemon says about memory.

import type { ResponseBody, RequestBody, Schema } from "../api_types";

export type NodeKind = Schema<"NodeKind">;
export type MemoryNode = Schema<"Node">;
export type Entity = Schema<"Entity">;
export type Rejected = Schema<"RejectedMemory">;
export type NodeVersion = Schema<"NodeVersion">;
export type RecallResponse = Schema<"Recalled">;
export type ErasureReceipt = Schema<"ErasureReceipt">;
export type ErasurePreview = Schema<"ErasureAnswer">;
/** What is to be erased. */
export type ToErase = RequestBody<"/api/admin/memory/erase", "post">;
export type Choice = Schema<"Choice">;

/** A memory named beside another. */
export type TraceNode = ResponseBody<"/api/admin/memory/events/{id}/dependents">["dependent_thoughts"][number];
export type DeletePreview = ResponseBody<"/api/admin/memory/preview-delete", "post">;
