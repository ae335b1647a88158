// Writes src/openapi.d.ts: the types of all requests and responses, from the OpenAPI document that the server's tests keep current.

import { readFileSync, writeFileSync } from "node:fs";
import openapiTypescript, { astToString } from "openapi-typescript";

const DOCUMENT = new URL("../crates/server/tests/it/snapshots/it__api_docs__openapi.snap", import.meta.url);
const TYPES = new URL("src/openapi.d.ts", import.meta.url);

// A snapshot starts with a header between two lines of dashes.
const [, , ...document] = readFileSync(DOCUMENT, "utf8").split(/^---\n/m);

/** An object without declared fields may have any. */
function withAnyFields(schema) {
  if (schema === null || typeof schema !== "object") return schema;
  if (Array.isArray(schema)) return schema.map(withAnyFields);
  const fields = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, withAnyFields(value)]));
  return schema.type === "object" && !schema.properties ? { additionalProperties: true, ...fields } : fields;
}

const types = await openapiTypescript(withAnyFields(JSON.parse(document.join("---\n"))), { defaultNonNullable: false });
writeFileSync(TYPES, astToString(types));
