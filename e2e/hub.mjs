// Calls the hub's tools like another instance.

/** Calls a tool with the owner's token and returns its result. */
export async function callTool(daemon, name, given) {
  const answer = await fetch(`${daemon.url}/mcp`, {
    method: "POST",
    headers: {
      Authorization: `Bearer ${daemon.token()}`,
      Accept: "application/json, text/event-stream",
      "Content-Type": "application/json",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: given } }),
  });
  const text = await answer.text();
  const { result, error } = JSON.parse(/^data: (\{.*)$/m.exec(text)?.[1] ?? text);
  if (error || result.isError) throw new Error(`${name}: ${JSON.stringify(error ?? result)}`);
  return result.structuredContent;
}

/** Pushes a version that knows no other version. */
export function pushDocument(daemon, instance, filename, content, at) {
  const change = { category: "custom", filename, content, lastModified: at, modifiedBy: instance, version: 1, versionVector: { [instance]: 1 } };
  return callTool(daemon, "sync_push", { instance: { id: instance, type: "other", version: 1 }, identityChanges: [change] });
}
