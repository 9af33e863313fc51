import assert from "node:assert/strict";
import { createApp } from "../../src/service/app.ts";
import { OpenReplies } from "../../src/service/http/openReplies.ts";
import { OrgEvents } from "../../src/service/http/orgEvents.ts";
import { folderPipelines } from "../../src/service/runs/projectPipelines.ts";
import { RunLogs } from "../../src/service/runs/runLogs.ts";
import type { startedCore } from "./startedCore.ts";

/** The app over a core, without the server around it, so that a test can look at what it is made of. */
export function bareApp({ core, clock, folder }: Awaited<ReturnType<typeof startedCore>>) {
  const log = () => {};
  const replies = new OpenReplies();
  const deps = {
    ...core,
    events: new OrgEvents({ ...core, clock, log }),
    pipelines: folderPipelines(core.db),
    clock,
    log,
    dataName: folder,
    logs: new RunLogs({ folder, log, now: clock.now }),
    replies,
    recover: () => {},
    pageFolder: "",
    instance: "test",
    version: undefined,
    stopping: new AbortController().signal,
    machine: {
      handOver: () => "never" as const,
      whyUnrunnable: () => undefined,
      keyId: "",
      state: () => assert.fail("nobody asks"),
      stop: () => assert.fail("nobody stops it"),
    },
  };
  return { app: createApp(deps), replies, log, clock };
}
