import type { MessageKey } from "../i18n";
import type { ImportRow } from "./requests";

export const STATE_NAMES: Record<ImportRow["state"], MessageKey> = {
  uploaded: "importUploaded",
  recording: "importRecording",
  interrupted: "importInterrupted",
  remembering: "importRemembering",
  paused: "importPaused",
  done: "importDone",
};

/** The steps of an import, with their states. */
export const STEPS: [MessageKey, ImportRow["state"][]][] = [
  ["importStepLook", []],
  ["importStepMap", ["uploaded"]],
  ["importStepRecord", ["recording", "interrupted"]],
  ["importStepRemember", ["remembering", "paused"]],
  ["importStepReport", ["done"]],
];
