import assert from "node:assert/strict";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ServiceClient } from "../../../src/client/service/client.ts";
import { LostStart } from "../../../src/client/service/replyErrors.ts";
import { PipelineError } from "../../../src/contract/errors.ts";
import { startByOwnTool, startsByTool } from "../../../src/extension/start/startByOwnTool.ts";
import { testKey } from "../../client/loopbackService.ts";
import { itOn } from "../../itOn.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { fakeWindow } from "./fakeWindow.ts";

describe("a start by the service's own tool", () => {
  it("isn't made where a run may have been started already, which would be a second one", () => {
    const cliPath = () => "/usr/bin/cloud";
    const error = new PipelineError("breaks-contract", "The reply is no run.");
    assert.equal(startsByTool(error, { cliPath }), true);
    assert.equal(startsByTool(new LostStart(error), { cliPath }), false);
  });

  itOn("posix", "ends with its window", async () => {
    await using folder = await TemporaryFolder.make();
    const cliPath = join(folder.path, "cloud");
    await writeFile(cliPath, "#!/bin/sh\necho it runs >&2\nexec sleep 20\n");
    await chmod(cliPath, 0o755);
    const { window, shown } = fakeWindow([]);
    const closing = new AbortController();
    const started = startByOwnTool(
      { pipeline: "nightly", root: folder.path },
      new ServiceClient({ baseUrl: new URL("http://127.0.0.1:9/"), apiKey: testKey }),
      {
        ...{ window, session: { noteChange: () => {} }, signal: closing.signal },
        ...{ cliPath: () => cliPath, folders: () => [], env: process.env },
      },
    );
    started.catch(() => undefined);
    // What it says of itself, behind what the window says of it.
    await shown.atLeast(2);
    closing.abort(new Error("the window closes"));
    await assert.rejects(started, /the window closes/);
  });
});
