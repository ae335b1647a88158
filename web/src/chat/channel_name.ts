// The names of the channels where messages are written.

import { language } from "../language.svelte";
import { IMPORT_CHANNEL_PREFIX } from "../live/timeline";

const NAMES: Readonly<Record<string, string>> = {
  discord: "Discord",
  imessage: "iMessage",
  openai: "OpenAI API",
  telegram: "Telegram",
  terminal: "Terminal",
};

/** Programs from which conversations are imported, by the id of their export's format. */
const PROGRAMS: Readonly<Record<string, string>> = {
  chatgpt: "ChatGPT",
  claude: "Claude",
  discord: "Discord",
  "discord-package": "Discord",
  facebook: "Messenger / Instagram",
  openclaw: "OpenClaw",
  "openclaw-session": "OpenClaw",
  signal: "Signal",
  sillytavern: "SillyTavern",
  telegram: "Telegram",
  wechat: "WeChat",
  "wechat-csv": "WeChat",
  "wechat-html": "WeChat",
  whatsapp: "WhatsApp",
};

/** The channel's name for a label; null for this page and for messages that are not stored yet. */
export function channelName(channelId: string | null): string | null {
  if (channelId === null || channelId === "web") return null;
  if (channelId.startsWith(IMPORT_CHANNEL_PREFIX)) {
    const format = /^import-(.+)-[0-9a-f]{16}$/.exec(channelId)?.[1];
    return PROGRAMS[format ?? ""] ?? language.t("importedChannel");
  }
  return NAMES[channelId] ?? channelId;
}
