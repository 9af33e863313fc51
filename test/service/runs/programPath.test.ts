import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { readConnection } from "../../../src/client/embedded/connectionFile.ts";
import { ServiceClient } from "../../../src/client/service/client.ts";
import { encodeProgramPath, readProgramPath } from "../../../src/contract/run.ts";
import { ended, programPipeline, started, startedService, untilCancelled } from "../startedService.ts";

const never = new AbortController().signal;

/** A service with a program `lamps` in a folder that is on no PATH but the caller's. */
async function withProgram() {
  const service = await startedService();
  const bin = join(service.project.root, "bin é#%");
  await mkdir(bin);
  await writeFile(join(bin, "lamps"), "#!/bin/sh\necho three\n", { mode: 0o755 });
  await service.write("count", "resources:\n  sh: { type: cli }\nsteps:\n  - use: sh\n    run: [lamps]\n");
  const clientWith = async (apiKey: string) => {
    const client = new ServiceClient({
      baseUrl: new URL(`${service.url}/`),
      apiKey,
      programPath: `${bin}:${process.env["PATH"]}`,
    });
    await client.putProject(service.project.name, service.project.root, never);
    return client;
  };
  return { service, clientWith, token: (await readConnection(service.data))?.token ?? "" };
}

describe("the PATH of a run's programs", () => {
  if (process.platform === "win32") return;

  it("is the caller's on this machine, also of one who has waited", async () => {
    const { service, clientWith, token } = await withProgram();
    await using _ = service;
    const client = await clientWith(token);
    assert.equal((await ended(client, await started(client, "count"))).status, "succeeded");
    await service.write("long", programPipeline(untilCancelled));
    const holder = await started(client, "long");
    const waiting = started(client, "count", 30);
    await client.cancel(holder.runId, never);
    const run = await ended(client, await waiting);
    assert.equal(run.status, "succeeded");
    assert(!JSON.stringify(run).includes("bin é"));
  });

  it("is the service's own for every other key", async () => {
    const { service, clientWith } = await withProgram();
    await using _ = service;
    const client = await clientWith((await service.key()).secret);
    const run = await ended(client, await started(client, "count"));
    assert.match(run.reason ?? "", /there is no program `lamps` on the PATH/);
  });

  it("comes through the header as it is, and is ignored where it can be none", () => {
    const path = "/a b:/é/#%2F:C:\\x;";
    assert.equal(readProgramPath(encodeProgramPath(path) ?? ""), path);
    for (const odd of ["", "%", "a%0Ab", "a".repeat(9_000)]) assert.equal(readProgramPath(odd), undefined);
    for (const odd of ["", "\ud800", "a".repeat(9_000)]) assert.equal(encodeProgramPath(odd), undefined);
  });
});
