import { fetchAllPages, get, PAGE_SIZE_MAX, persona, post, put, remove } from "../api";
import type { RequestBody } from "../api_types";
import type { DocumentName } from "./types";

const DOCUMENT = "/api/hub/documents/{kind}/{filename}";
/** Only the identifying fields: callers may pass a whole document. */
const nameQuery = ({ kind, filename }: DocumentName) => ({ kind, filename });

/** All documents, without their texts. */
export const getDocuments = () =>
  fetchAllPages(
    (cursor) => get("/api/hub/documents", { cursor, limit: PAGE_SIZE_MAX }),
    ({ documents }) => documents,
  );
/** Deleted documents that can be restored; `version` is the last one with a text. */
export const getDeletedDocuments = () =>
  fetchAllPages(
    (cursor) => get("/api/hub/documents", { deleted: true, cursor, limit: PAGE_SIZE_MAX }),
    ({ documents }) => documents,
  );
export const getDocument = (name: DocumentName) => get(DOCUMENT, nameQuery(name));

/** `version` is the version that was edited, 0 for a new document; null overwrites any version. */
export const writeDocument = (name: DocumentName, edit: RequestBody<typeof DOCUMENT, "put">) => put(DOCUMENT, edit, nameQuery(name));
export const deleteDocument = (name: DocumentName) => remove(DOCUMENT, nameQuery(name));
/** Erases a document with all its versions. */
export const eraseDocument = ({ kind, filename }: DocumentName) =>
  post("/api/admin/memory/erase", { documents: [`${kind}/${filename}`], ...persona() });

/** All versions, newest first. */
export const getVersions = (name: DocumentName) =>
  fetchAllPages(
    (cursor) => get(`${DOCUMENT}/versions`, { ...nameQuery(name), cursor, limit: PAGE_SIZE_MAX }),
    ({ versions }) => versions,
  );
export const restoreVersion = (name: DocumentName, version: number) =>
  post(`${DOCUMENT}/versions/{version}/restore`, undefined, { ...nameQuery(name), version: String(version) });

export const getPendingPeriods = () => get("/api/hub/rollups").then(({ periods }) => periods);
/** Resolves when the language model has written it. */
export const writeRollup = (name: DocumentName) => post("/api/hub/rollups/{kind}/{filename}", undefined, nameQuery(name));
