// Types of everything that the daemon takes and answers, out of the OpenAPI document that its tests keep current.

import { readFileSync, writeFileSync } from "node:fs";
import openapiTypescript, { astToString } from "openapi-typescript";

const DOCUMENT = new URL("../crates/server/tests/it/snapshots/it__document__openapi.snap", import.meta.url);
const TYPES = new URL("src/openapi.d.ts", import.meta.url);

// A snapshot has a head of its own between two lines of dashes.
const [, , ...document] = readFileSync(DOCUMENT, "utf8").split(/^---\n/m);
/** An object whose fields are not told may hold any. */
function opened(schema) {
  if (schema === null || typeof schema !== "object") return schema;
  if (Array.isArray(schema)) return schema.map(opened);
  const fields = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, opened(value)]));
  return schema.type === "object" && !schema.properties ? { additionalProperties: true, ...fields } : fields;
}

const types = await openapiTypescript(opened(JSON.parse(document.join("---\n"))), { defaultNonNullable: false });
writeFileSync(TYPES, astToString(types));
