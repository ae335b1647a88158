// Conflicting versions of a document.

export const en = {
  conflicts: "Conflicts",
  conflictsWaiting: "{n} conflicts to resolve",
  conflictsWaitingOne: "1 conflict to resolve",
  conflictsExplained:
    "The same document was changed in two places independently. Both versions are saved; choose which one to use.",
  conflictsAll: "Show resolved conflicts",
  conflictsEmpty: "No conflicts to resolve.",
  conflictShown: "Current version",
  conflictKept: "Other version",
  conflictDeleted: "Deleted on this side.",
  conflictTake: "Use this version",
  conflictMerge: "Combine both…",
  conflictMerged: "Combined text",
  conflictTakeMerged: "Use this text",
  conflictSettled: "Conflict resolved. The other version is in the document's history.",
  conflictClosed: "Resolved.",
  conflictClosedShown: "Resolved: the current version stayed.",
  conflictClosedKept: "Resolved: the other version was used.",
  conflictClosedMerged: "Resolved: both were combined.",
};

export const zh: typeof en = {
  conflicts: "冲突",
  conflictsWaiting: "{n} 处冲突待解决",
  conflictsWaitingOne: "1 处冲突待解决",
  conflictsExplained: "同一份文档在两个地方分别被修改。两个版本都已保存，请选择使用哪一个。",
  conflictsAll: "显示已解决的冲突",
  conflictsEmpty: "没有待解决的冲突。",
  conflictShown: "当前版本",
  conflictKept: "另一个版本",
  conflictDeleted: "这一方已删除。",
  conflictTake: "使用这个版本",
  conflictMerge: "合并两个版本…",
  conflictMerged: "合并后的文字",
  conflictTakeMerged: "使用这段文字",
  conflictSettled: "冲突已解决。另一个版本保存在文档的历史里。",
  conflictClosed: "已解决。",
  conflictClosedShown: "已解决：保留了当前版本。",
  conflictClosedKept: "已解决：使用了另一个版本。",
  conflictClosedMerged: "已解决：合并了两个版本。",
};
