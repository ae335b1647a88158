// Files from which a persona is made. The server reads them like an import.

import { get, persona, post } from "../api";
import type { ResponseBody } from "../api_types";
import { sendFiles, undoImport } from "../imports/requests";

export type CharacterDraft = ResponseBody<"/api/admin/imports/{id}/character">;

export type Material =
  | { kind: "character"; importId: string; draft: CharacterDraft }
  | { kind: "conversations"; messages: number }
  | { kind: "text"; text: string }
  /** `reason` is empty if nothing was found at all. */
  | { kind: "none"; reason: string };

/** Examines files. An upload with conversations stays in the importer; any other without a character is deleted. */
export async function readMaterial(files: File[]): Promise<Material> {
  const { run_id: importId, look: preview } = await sendFiles(files);
  if (preview && (preview.cards + preview.core_drafts > 0 || (preview.lorebooks > 0 && preview.messages === 0))) {
    return { kind: "character", importId, draft: await get("/api/admin/imports/{id}/character", { id: importId }) };
  }
  if (preview && preview.messages > 0) return { kind: "conversations", messages: preview.messages };
  await undoImport(importId);
  if (preview && preview.documents > 0) return { kind: "text", text: (await Promise.all(files.map((file) => file.text()))).join("\n\n") };
  return { kind: "none", reason: preview?.skipped[0]?.reason ?? "" };
}

/**
 * Saves the other parts of a character: the picture, documents, and the greeting with this number as the first
 * message.
 */
export const saveCharacter = (importId: string, greeting: number | null) =>
  post("/api/admin/imports/{id}/character", { greeting, ...persona() }, { id: importId });
