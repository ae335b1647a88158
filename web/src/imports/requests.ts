import { get, post, persona, upload } from "../api";
import { personas } from "../persona.svelte";
import type { RequestBody, ResponseBody } from "../api_types";

export type ImportRow = ResponseBody<"/api/admin/imports">["imports"][number];
export type ImportDetail = ResponseBody<"/api/admin/imports/{id}">;
export type ImportPreview = NonNullable<ImportDetail["look"]>;
export type Mapping = NonNullable<RequestBody<"/api/admin/imports/{id}/start", "post">["mapping"]>;

export const getImports = () => get("/api/admin/imports").then((answer) => answer.imports);
export const getImport = (id: string) => get("/api/admin/imports/{id}", { id });
/** File names include their folder, so that files that belong together are recognised. `named` maps fields. */
export const sendFiles = (files: File[], named: string[] = []) =>
  upload(
    "/api/admin/imports",
    files.map((file) => ({ file, name: file.webkitRelativePath || file.name, modified: file.lastModified })),
    named,
  );
export const startImport = (id: string, mapping: Mapping, remember: boolean) =>
  post("/api/admin/imports/{id}/start", { mapping, remember, ...persona() }, { id });
export const pauseImport = (id: string) => post("/api/admin/imports/{id}/pause", undefined, { id });
export const resumeImport = (id: string) => post("/api/admin/imports/{id}/resume", undefined, { id });
/** Approves the memories that the other program had saved about the user. */
export const approveAll = (id: string) => post("/api/admin/memory/rejected/approve-all", { run_id: id });
export const undoImport = (id: string) => post("/api/admin/imports/{id}/undo", undefined, { id });

export type ExportFormat = "archive" | "markdown" | "sillytavern" | "chatgpt" | "card" | "card-png";
/** An archive contains all personas, other formats only the selected one. */
export function urlOfExport(format: ExportFormat): string {
  const query = new URLSearchParams({ format });
  if (format !== "archive" && personas.selectedId !== null) query.set("persona_id", personas.selectedId);
  return `/api/admin/export?${query}`;
}
