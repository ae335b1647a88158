// A Bot API on loopback: one bot, to which a test writes.

import { createServer } from "node:http";

/** `{ base, write(text), sent, stop() }`; other tokens than `token` are refused. */
export async function startTelegram(token) {
  const updates = [];
  const sent = [];
  const waiting = new Set();
  let number = 0;

  const answers = {
    getMe: () => ({ id: 1, is_bot: true, username: "mira_bot" }),
    getUpdates: ({ offset = 0 }) => updates.filter(({ update_id }) => update_id >= offset),
    sendMessage: ({ chat_id, text }) => {
      sent.push(text);
      return { message_id: ++number, date: 0, chat: { id: chat_id, type: "private" } };
    },
  };

  const server = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    const answer = (status, value) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(value));
    };
    const [, bot, method] = request.url.split("/");
    if (bot !== `bot${token}`) return answer(401, { ok: false, error_code: 401, description: "Unauthorized" });
    const asked = body ? JSON.parse(body) : {};
    const result = () => answers[method]?.(asked) ?? true;
    if (method !== "getUpdates" || !asked.timeout || result().length) return answer(200, { ok: true, result: result() });
    // Held until something is written, as the platform does.
    const release = () => answer(200, { ok: true, result: result() });
    waiting.add(release);
    response.on("close", () => waiting.delete(release));
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));

  return {
    base: `http://127.0.0.1:${server.address().port}`,
    sent,
    write(text) {
      const message = { message_id: ++number, date: Math.floor(Date.now() / 1000), text };
      const person = { chat: { id: 7, type: "private" }, from: { id: 7, is_bot: false, first_name: "Ann" } };
      updates.push({ update_id: 1000 + updates.length, message: { ...message, ...person } });
      waiting.forEach((release) => release());
      waiting.clear();
    },
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}
