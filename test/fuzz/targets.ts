import type { Target } from "./engine/target.ts";

/** Every target by its name. They are loaded when asked for, since what ran is counted only of what is loaded then. */
const loaders: Readonly<Record<string, () => Promise<Target>>> = {
  "event-stream": async () => (await import("./targets/eventStream.ts")).eventStreamTarget,
  "log-text": async () => (await import("./targets/logText.ts")).logTextTarget,
  mask: async () => (await import("./targets/mask.ts")).maskTarget,
  "pipeline-file": async () => (await import("./targets/pipelineFile.ts")).pipelineFileTarget,
  "service-reply": async () => (await import("./targets/serviceReply.ts")).serviceReplyTarget,
};

export const targetNames: readonly string[] = Object.keys(loaders);

/** @throws for a name that no target has. */
export async function loadTarget(name: string): Promise<Target> {
  const load = loaders[name];
  if (load === undefined)
    throw new Error(`There is no target ${name}. There are: ${targetNames.join(", ")}.`);
  return load();
}
