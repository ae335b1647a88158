// Types of memory responses.

import type { RequestBody, ResponseBody } from "../api_types";

export type MemoryNode = ResponseBody<"/api/admin/memory/events">["items"][number];
export type Entity = ResponseBody<"/api/admin/memory/entities">["entities"][number];
export type Rejected = ResponseBody<"/api/admin/memory/rejected">["rejected"][number];
export type NodeVersion = ResponseBody<"/api/admin/memory/nodes/{id}/history">["versions"][number];
export type RecallResponse = ResponseBody<"/api/admin/memory/recall", "post">;
export type ErasureReceipt = ResponseBody<"/api/admin/memory/receipts">["receipts"][number];
export type ErasurePreview = ResponseBody<"/api/admin/memory/erase", "post">;
/** What to erase. */
export type ToErase = RequestBody<"/api/admin/memory/erase", "post">;
export type Choice = NonNullable<ToErase["choice"]>;

/** A related memory. */
export type TraceNode = ResponseBody<"/api/admin/memory/events/{id}/dependents">["dependent_thoughts"][number];
export type DeletePreview = ResponseBody<"/api/admin/memory/preview-delete", "post">;

export type MessageFound = ResponseBody<"/api/admin/memory/search">["messages"][number];

export type Conflict = ResponseBody<"/api/hub/conflicts">["conflicts"][number];
