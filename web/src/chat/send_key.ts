/** True if a key press in the composer sends the message. */
export function isSendKey(event: Pick<KeyboardEvent, "key" | "shiftKey" | "isComposing" | "keyCode">): boolean {
  if (event.key !== "Enter" || event.shiftKey) return false;
  // Enter that selects a candidate of an input method must not send. Safari has already ended the composition by
  // then; only the key code 229 remains.
  return !event.isComposing && event.keyCode !== 229;
}
