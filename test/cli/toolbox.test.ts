import assert from "node:assert/strict";
import { access } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { findProcesses } from "../../scripts/process/findProcesses.ts";
import { itOn } from "../itOn.ts";
import { toolbox } from "./toolbox.ts";

/** What can be seen of a service while it starts, in this order, and before it says where it is. */
const moments: readonly (readonly [title: string, isReached: (data: string) => Promise<boolean>])[] = [
  ["is spawned", async (data) => (await findProcesses({ PIPELINE_DATA_DIR: data })).length > 1],
  ["has taken its folder", (data) => isThere(join(data, "service.lock"))],
  ["has its port", (data) => isThere(join(data, "service.port"))],
];

describe("the toolbox of these tests", () => {
  for (const [title, isReached] of moments) {
    itOn("linux", `leaves no service behind that ${title} when its tool is killed`, async () => {
      const tool = await toolbox();
      const starting = tool.spawn(["org"]);
      while (!(await isReached(tool.data))) await pause(1);
      starting.kill("SIGKILL");
      await tool[Symbol.asyncDispose]();
      await starting;
      assert.deepEqual(await findProcesses({ PIPELINE_DATA_DIR: tool.data }), []);
      assert(!(await isThere(tool.data)));
    });
  }
});

function isThere(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}
