import { get, post, put, remove } from "../api";
import type { DocumentName, DocumentText, DocumentVersion, HubDocument, UntoldPeriod } from "./shapes";

const HUB = "/api/hub";
const path = ({ kind, filename }: DocumentName) => `${encodeURIComponent(kind)}/${encodeURIComponent(filename)}`;
const at = (name: DocumentName) => `${HUB}/documents/${path(name)}`;

/** All of them, without their texts. */
export const getDocuments = () => get<{ documents: HubDocument[] }>(`${HUB}/documents`).then(({ documents }) => documents);
export const getDocument = (name: DocumentName) => get<DocumentText>(at(name));

/** `version` is the one that was edited, 0 for a new document; null writes whatever came meanwhile. */
export const writeDocument = (name: DocumentName, edit: { content: string; version: number | null; prompt_label?: string }) =>
  put<DocumentText>(at(name), edit);
export const deleteDocument = (name: DocumentName) => remove<unknown>(at(name));

export const getVersions = (name: DocumentName) =>
  get<{ versions: DocumentVersion[] }>(`${at(name)}/versions`).then(({ versions }) => versions);
export const restoreVersion = (name: DocumentName, version: number) =>
  post<DocumentText>(`${at(name)}/versions/${version}/restore`);

export const getUntold = () => get<{ periods: UntoldPeriod[] }>(`${HUB}/rollups`).then(({ periods }) => periods);
/** Takes as long as the language model does. */
export const tellNow = (name: DocumentName) => post<DocumentText>(`${HUB}/rollups/${path(name)}`);
