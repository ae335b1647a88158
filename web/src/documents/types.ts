// Types of hub documents.

import type { ResponseBody } from "../api_types";

/** A document without its text. Kinds: `self`, `user`, … (identity), `daily`, `weekly`, … (diary). */
export type HubDocument = ResponseBody<"/api/hub/documents">["documents"][number];
export type DocumentText = ResponseBody<"/api/hub/documents/{kind}/{filename}">;
export type DocumentVersion = ResponseBody<"/api/hub/documents/{kind}/{filename}/versions">["versions"][number];
export type PendingPeriod = ResponseBody<"/api/hub/rollups">["periods"][number];

/** The fields that identify a document. */
export type DocumentName = Pick<HubDocument, "kind" | "filename">;

export const IDENTITY_KINDS = ["self", "user", "relationship", "custom"] as const;
export type IdentityKind = (typeof IDENTITY_KINDS)[number];
