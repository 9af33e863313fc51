import assert from "node:assert/strict";
import { readConnection } from "../../src/machine/connectionFile.ts";
import { LoopbackService } from "../client/loopbackService.ts";
import { toolbox, written } from "./toolbox.ts";

describe("a service that can't be used", () => {
  const key = { PIPELINE_API_KEY: "plr_some_key" };

  it("is out of reach: exit code 4, the host named, no key shown", async () => {
    await using tool = await toolbox();
    const gone = await LoopbackService.listen((_, response) => void response.writeHead(200).end(""));
    await gone[Symbol.asyncDispose]();
    const { exitCode, stderr } = await tool.run(["org"], { ...key, PIPELINE_BASE_URL: gone.origin });
    assert.equal(exitCode, 4);
    assert(stderr.includes(gone.host));
    assert(!stderr.includes(key.PIPELINE_API_KEY));
  });

  it("answers nonsense: exit code 4", async () => {
    await using tool = await toolbox();
    for (const body of ["<html>hello</html>", "{}", '{"org-id":7}']) {
      await using other = await LoopbackService.listen(
        (_, response) => void response.writeHead(200).end(body),
      );
      const { exitCode, stderr } = await tool.call(["org"], { ...key, PIPELINE_BASE_URL: other.origin });
      assert.equal(exitCode, 4, stderr);
    }
  });

  it("accepts no such key: exit code 3, and with --json one object", async () => {
    await using tool = await toolbox();
    const serving = tool.spawn(["serve"]);
    await written(serving.stdout, /Serving at/);
    const { url = "" } = (await readConnection(tool.data)) ?? {};
    const named = { ...key, PIPELINE_BASE_URL: url };
    const { exitCode, stdout } = await tool.run(["org", "--json"], named);
    assert.equal(exitCode, 3);
    const told = JSON.parse(stdout);
    assert.equal(told.ok, false);
    assert.equal(told.error.type, "unauthorized");
    serving.kill("SIGTERM");
    await serving;
  });

  it("has no key given: exit code 3, with what to do", async () => {
    await using tool = await toolbox();
    const { exitCode, stderr } = await tool.run(["org"], { PIPELINE_BASE_URL: "https://cloud.example" });
    assert.equal(exitCode, 3);
    assert.match(stderr, /PIPELINE_API_KEY/);
  });

  it("is named by what is no URL: exit code 2", async () => {
    await using tool = await toolbox();
    const { exitCode, stderr } = await tool.run(["org"], { ...key, PIPELINE_BASE_URL: "cloud" });
    assert.equal(exitCode, 2, stderr);
  });
});
