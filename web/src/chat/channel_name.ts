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

/** The channel's name for a pill; null for this page and for messages that are not stored yet. */
export function channelName(channelId: string | null): string | null {
  if (channelId === null || channelId === "web") return null;
  if (channelId.startsWith(IMPORT_CHANNEL_PREFIX)) return language.t("importedChannel");
  return NAMES[channelId] ?? channelId;
}
