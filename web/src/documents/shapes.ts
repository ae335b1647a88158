// The shared self on the wire.

/** A document without its text. */
export interface HubDocument {
  /** `self`, `user`, … for what is known; `daily`, `weekly`, … for what was lived. */
  kind: string;
  filename: string;
  prompt_label: string | null;
  version: number;
  source_instance: string;
  edited_by: string;
  created_at: string;
  updated_at: string;
  /** Of a roll-up: its sources have changed since. */
  stale: boolean;
  in_conflict: boolean;
  /** One of the three that are always in mind. */
  core_block: boolean;
}

export interface DocumentText extends HubDocument {
  content: string;
}

/** Newest first; a deletion has no text. */
export interface DocumentVersion {
  version: number;
  content: string | null;
  source_instance: string;
  edited_by: string;
  by_person: boolean;
  updated_at: string;
}

/** A period that has something to tell and is unwritten, or written and out of date. */
export interface UntoldPeriod {
  kind: string;
  filename: string;
  due: boolean;
  stale: boolean;
}

/** What a document is called on the way. */
export type DocumentName = Pick<HubDocument, "kind" | "filename">;

export const IDENTITY_KINDS = ["self", "user", "relationship", "custom"] as const;
export type IdentityKind = (typeof IDENTITY_KINDS)[number];
