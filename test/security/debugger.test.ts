import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { readConnection } from "../../src/machine/connectionFile.ts";
import { toolbox } from "../cli/toolbox.ts";
import { itOn } from "../itOn.ts";

describe("the debugger of Node.js", () => {
  itOn("posix", "isn't opened to all users of the machine by a signal to the embedded service", async () => {
    await using tool = await toolbox();
    await tool.run(["org"]);
    const pid = (await readConnection(tool.data))?.pid;
    assert.ok(pid !== undefined);
    process.kill(pid, "SIGUSR1");
    await tool.run(["org"]);
    await tool.run(["service", "stop"]);
    assert.doesNotMatch(await readFile(join(tool.data, "service.log"), "utf8"), /debugger|inspector/i);
  });
});
