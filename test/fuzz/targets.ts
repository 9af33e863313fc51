import type { Target } from "./engine/target.ts";

/** Every target by its name. They are loaded when asked for, since what ran is counted only of what is loaded then. */
const loaders: Readonly<Record<string, () => Promise<Target>>> = {
  addresses: async () => (await import("./targets/addresses.ts")).addressesTarget,
  "command-line": async () => (await import("./targets/commandLine.ts")).commandLineTarget,
  door: async () => (await import("./targets/door.ts")).doorTarget,
  "event-stream": async () => (await import("./targets/eventStream.ts")).eventStreamTarget,
  "kept-files": async () => (await import("./targets/keptFiles.ts")).keptFilesTarget,
  "log-file": async () => (await import("./targets/logFile.ts")).logFileTarget,
  "log-text": async () => (await import("./targets/logText.ts")).logTextTarget,
  mask: async () => (await import("./targets/mask.ts")).maskTarget,
  "pipeline-editing": async () => (await import("./targets/pipelineEditing.ts")).pipelineEditingTarget,
  "pipeline-file": async () => (await import("./targets/pipelineFile.ts")).pipelineFileTarget,
  refusal: async () => (await import("./targets/refusal.ts")).refusalTarget,
  "service-reply": async () => (await import("./targets/serviceReply.ts")).serviceReplyTarget,
  "step-values": async () => (await import("./targets/stepValues.ts")).stepValuesTarget,
  streams: async () => (await import("./targets/streams.ts")).streamsTarget,
  "terminal-lines": async () => (await import("./targets/terminalLines.ts")).terminalLinesTarget,
};

export const targetNames: readonly string[] = Object.keys(loaders);

/** @throws for a name that no target has. */
export async function loadTarget(name: string): Promise<Target> {
  const load = loaders[name];
  if (load === undefined)
    throw new Error(`There is no target ${name}. There are: ${targetNames.join(", ")}.`);
  return load();
}
