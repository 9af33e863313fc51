import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import type { window as vscodeWindow } from "vscode";
import {
  type MachineServiceDeps,
  restartService,
  startService,
  stopService,
} from "../../../src/extension/commands/serviceCommands.ts";
import { isStopped, readConnection, setStopped } from "../../../src/machine/connectionFile.ts";
import { type StandIn, standInFor } from "../../client/embedded/standIn.ts";
import { programPipeline, started, startedService, untilCancelled } from "../../service/startedService.ts";

const never = new AbortController().signal;

/** A window; `restarts` counts how often its session has connected anew. */
function windowWith(
  standIn: StandIn,
  { folder = standIn.folder, answer }: Partial<Record<"folder" | "answer", string>> = {},
) {
  const shown: unknown[][] = [];
  const counted = { restarts: 0 };
  const deps: MachineServiceDeps = {
    session: {
      restart: () => {
        counted.restarts += 1;
      },
    },
    ownService: () => standIn.deps({ folder }),
    window: {
      showWarningMessage: (async (...words: unknown[]) => {
        shown.push(words);
        return answer;
      }) as typeof vscodeWindow.showWarningMessage,
    },
    signal: never,
  };
  return { deps, shown, counted };
}

describe("the commands on this machine's service", () => {
  it("stop it and connect anew, so that the window shows it at once", async () => {
    await using service = await startedService();
    await using standIn = await standInFor();
    const { deps, shown, counted } = windowWith(standIn, { folder: service.data });
    await stopService(deps);
    await service.stop();
    assert.deepEqual([isStopped(service.data), counted.restarts, shown], [true, 1, []]);
  });

  it("ask before an active run of any org is cancelled, and do nothing on another answer", async () => {
    await using service = await startedService();
    await using standIn = await standInFor();
    const client = service.client((await service.key("member", "other")).secret);
    await client.putProject(service.project.name, service.project.root, never);
    await service.write("long", programPipeline(untilCancelled, "1h"));
    await started(client, "long");
    const { deps, shown, counted } = windowWith(standIn, { folder: service.data });
    await stopService(deps);
    await restartService(deps);
    const question = "An active run of this machine's service will be cancelled.";
    assert.deepEqual(shown, [
      [question, { modal: true }, "Stop"],
      [question, { modal: true }, "Restart"],
    ]);
    assert.equal(counted.restarts, 0);
    assert.equal(isStopped(service.data), false);
    assert((await readConnection(service.data)) !== undefined);

    const willing = windowWith(standIn, { folder: service.data, answer: "Stop" });
    await stopService(willing.deps);
    assert.equal(isStopped(service.data), true);
  });

  it("start it where a person has stopped it", async () => {
    await using standIn = await standInFor();
    await mkdir(standIn.folder, { recursive: true });
    await setStopped(standIn.folder, true);
    const { deps, counted } = windowWith(standIn);
    await startService(deps);
    assert.equal((await readConnection(standIn.folder))?.pid, standIn.pids[0]);
    assert.equal(counted.restarts, 1);
  });
});
