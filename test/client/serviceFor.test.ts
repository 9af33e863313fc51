import assert from "node:assert/strict";
import { serviceFor } from "../../src/client/serviceFor.ts";
import { StandIn } from "./embedded/standIn.ts";
import { testKey } from "./loopbackService.ts";

const never = new AbortController().signal;
const url = "https://pipelines.example.com/x";

describe("the service of a terminal", () => {
  const nothing = { execPath: "", servicePath: "", spawn: (): never => assert.fail("spawned") };

  it("is the one that the environment names", async () => {
    const env = { PIPELINE_BASE_URL: url, PIPELINE_API_KEY: testKey };
    const { kind, client } = await serviceFor(env, nothing, never);
    assert.equal(kind, "named");
    assert.equal(client.baseUrl.href, `${url}/`);
    assert.equal(client.apiKey, testKey);
  });

  it("is this machine's own when the environment names none", async () => {
    await using standIn = await StandIn.make();
    const { execPath, servicePath, spawn, env } = standIn.deps();
    const emptied = {
      ...env,
      PIPELINE_DATA_DIR: standIn.folder,
      PIPELINE_BASE_URL: "",
      PIPELINE_API_KEY: "",
    };
    const { kind, client } = await serviceFor(
      emptied,
      { execPath, servicePath, ...(spawn && { spawn }) },
      never,
    );
    assert.equal(kind, "embedded");
    assert.deepEqual(await client.runs({}, never), { runs: [] });
  });

  it("is none with a base URL but no key", async () => {
    await assert.rejects(serviceFor({ PIPELINE_BASE_URL: url }, nothing, never), {
      type: "unauthorized",
      message: "PIPELINE_BASE_URL names pipelines.example.com, but there is no API key for it.",
      next: "Set PIPELINE_API_KEY to a key of that service, or unset PIPELINE_BASE_URL.",
    });
  });

  it("is none with a key but no base URL", async () => {
    await assert.rejects(serviceFor({ PIPELINE_API_KEY: testKey }, nothing, never), {
      type: "usage",
      message: "PIPELINE_API_KEY is set, but not the service that it is for.",
    });
  });

  it("is none with a base URL that is none", async () => {
    const env = { PIPELINE_BASE_URL: "http://pipelines.example.com", PIPELINE_API_KEY: testKey };
    await assert.rejects(serviceFor(env, nothing, never), { type: "invalid-request" });
  });
});
