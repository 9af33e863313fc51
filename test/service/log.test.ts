import assert from "node:assert/strict";
import { programPipeline, started, startedService } from "./startedService.ts";

describe("the log of a run", () => {
  it("ends with the run's end, which it names", async () => {
    await using service = await startedService();
    const { client, secret } = await service.member();
    await service.write("hello", programPipeline("console.log('hello')"));
    const { runId } = await started(client, "hello");
    const reply = await service.fetch(`/api/runs/${runId}/log`, {
      headers: { "x-api-key": secret, accept: "text/event-stream" },
    });
    assert.match(
      await reply.text(),
      new RegExp(`event: end\ndata: \\{"run-id":"${runId}","status":"succeeded"\\}\n\n$`),
    );
  });
});
