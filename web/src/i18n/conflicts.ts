// Versions that wait for a decision.

export const en = {
  conflicts: "Conflicts",
  conflictsWaiting: "{n} conflicts wait for you",
  conflictsWaitingOne: "1 conflict waits for you",
  conflictsExplained:
    "Two places changed the same document without knowing of each other. Both versions are kept; say which one holds.",
  conflictsAll: "Show settled ones too",
  conflictsEmpty: "No versions wait for a decision.",
  conflictShown: "The version that is shown now",
  conflictKept: "The version kept beside it",
  conflictDeleted: "Deleted there.",
  conflictTake: "Take this version",
  conflictMerge: "Put both together…",
  conflictMerged: "The text that takes the place of both",
  conflictTakeMerged: "Take this text",
  conflictSettled: "Decided. The other version stays in the document's history.",
  conflictClosed: "Settled.",
  conflictClosedShown: "Settled: the shown version stayed.",
  conflictClosedKept: "Settled: the other version was taken.",
  conflictClosedMerged: "Settled: both were put together.",
};

export const zh: typeof en = {
  conflicts: "冲突",
  conflictsWaiting: "有 {n} 处冲突等你决定",
  conflictsWaitingOne: "有 1 处冲突等你决定",
  conflictsExplained: "两个地方各自改了同一份文档，彼此不知道。两个版本都在，由你决定以哪个为准。",
  conflictsAll: "也显示已经决定的",
  conflictsEmpty: "没有等待决定的版本。",
  conflictShown: "现在显示的版本",
  conflictKept: "保存在旁边的版本",
  conflictDeleted: "那边已经删除。",
  conflictTake: "采用这个版本",
  conflictMerge: "合在一起…",
  conflictMerged: "代替两者的文字",
  conflictTakeMerged: "采用这段文字",
  conflictSettled: "已决定。另一个版本留在文档的历史里。",
  conflictClosed: "已决定。",
  conflictClosedShown: "已决定：保留了显示的版本。",
  conflictClosedKept: "已决定：采用了另一个版本。",
  conflictClosedMerged: "已决定：合在了一起。",
};
