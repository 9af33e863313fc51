import assert from "node:assert/strict";
import { followRun } from "../../../src/client/follow/followRun.ts";
import { templates } from "../../../src/pipeline/editing/templates.ts";
import { started, startedService } from "../../service/startedService.ts";

describe("the templates that need nothing but this machine", () => {
  it("succeed as they come, without a network", async () => {
    await using service = await startedService();
    const { client } = await service.member();
    for (const { id, text } of templates) {
      if (!["empty", "sql", "cli"].includes(id)) continue;
      await service.write(id, text);
      const start = await started(client, id);
      const run = await followRun(client, start, () => {}, new AbortController().signal);
      assert.equal(run.status, "succeeded", `${id}: ${run.reason}`);
    }
  });
});
