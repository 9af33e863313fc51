// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the references that pipeline files are written with.
import assert from "node:assert/strict";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ServiceClient } from "../../../src/client/service/client.ts";
import { readConnection } from "../../../src/machine/connectionFile.ts";
import { ended, programPipeline, started, startedService, untilCancelled } from "../startedService.ts";

const never = new AbortController().signal;

/** A service with a program `lamps` in a folder that is on no PATH but the caller's. */
async function withProgram() {
  const service = await startedService();
  const bin = join(service.project.root, "bin é#%");
  await mkdir(bin);
  await writeFile(join(bin, "lamps"), "#!/bin/sh\necho three\n", { mode: 0o755 });
  await service.write(
    "count",
    [
      "resources:",
      "  sh: { type: cli }",
      "steps:",
      "  - { name: path, use: sh, run: [lamps] }",
      "  - name: told",
      "    use: sh",
      '    run: "[ -n \\"$WHO\\" ] && [ \\"$WHO\\" = \\"${{ env.WHO }}\\" ] && echo \\"length ${#WHO}\\" && env"',
      '    expect: { output: "/^length [0-9]+$/" }',
      "",
    ].join("\n"),
  );
  const PATH = `${bin}:${process.env["PATH"]}`;
  const clientWith = async (environment: Readonly<Record<string, string>> | undefined, key?: string) => {
    const client = new ServiceClient({
      baseUrl: new URL(`${service.url}/`),
      apiKey: key ?? (await readConnection(service.data))?.token ?? "",
      environment: environment && { PATH, ...environment },
    });
    await client.putProject(service.project.name, service.project.root, never);
    return client;
  };
  return { service, clientWith };
}

/** All that lies in a folder, as one text. */
async function allIn(folder: string): Promise<string> {
  const files = await readdir(folder, { recursive: true, withFileTypes: true });
  const texts = files
    .filter((file) => file.isFile())
    .map((file) => readFile(join(file.parentPath, file.name), "latin1"));
  return (await Promise.all(texts)).join("\n");
}

describe("the environment of a run", () => {
  if (process.platform === "win32") return;

  it("is that of its start, whatever others have, also of one who has waited", async () => {
    const { service, clientWith } = await withProgram();
    await using _ = service;
    const [day, night] = [
      await clientWith({ WHO: "the day" }),
      await clientWith({ WHO: "who works at night" }),
    ];
    const first = await ended(day, await started(day, "count"));
    assert.equal(first.status, "succeeded", first.reason);
    await service.write("long", programPipeline(untilCancelled));
    const holder = await started(day, "long");
    const waiting = started(night, "count", 30);
    await day.cancel(holder.runId, never);
    const run = await ended(night, await waiting);
    assert.equal(run.status, "succeeded", run.reason);
    assert.match(await allIn(join(service.data, "runs", run.runId)), /length 18/);
  });

  it("is written nowhere but where a step prints it, and there masked", async () => {
    const { service, clientWith } = await withProgram();
    await using _ = service;
    const client = await clientWith({ WHO: "a night-watchman's word", UNUSED: "never-told-by-anyone" });
    await service.write("quiet", programPipeline("0"));
    const runs = [
      await ended(client, await started(client, "count")),
      await ended(client, await started(client, "quiet")),
    ];
    assert.deepEqual(
      runs.map(({ status }) => status),
      ["succeeded", "succeeded"],
    );
    const kept = (await allIn(service.data)) + service.logged.join("\n");
    assert(!kept.includes("night-watchman"));
    // The first pipeline prints all variables, of which it refers to one.
    assert.equal(kept.split("never-told-by-anyone").length, 2);
  });

  it("is empty where the start's is, not the service's", async () => {
    const { service, clientWith } = await withProgram();
    await using _ = service;
    const client = new ServiceClient({
      ...(await clientWith({})),
      environment: {},
      apiKey: (await clientWith({})).apiKey,
    });
    const run = await ended(client, await started(client, "count"));
    assert.match(run.reason ?? "", /there is no program `lamps` on the PATH/);
  });

  it("is the service's own for a start with another key, which can't bring one", async () => {
    const { service, clientWith } = await withProgram();
    await using _ = service;
    const { secret } = await service.key();
    const client = await clientWith(undefined, secret);
    const run = await ended(client, await started(client, "count"));
    assert.match(run.reason ?? "", /there is no program `lamps` on the PATH/);
    const bringing = await clientWith({ WHO: "another" }, secret);
    await assert.rejects(
      started(bringing, "count"),
      /Only a start with this machine's own key brings its `environment`/,
    );
  });

  it("may be large, and is refused where it is none", async () => {
    const { service, clientWith } = await withProgram();
    await using _ = service;
    const many = Object.fromEntries(
      Array.from({ length: 200 }, (_, index) => [`V${index}`, "é".repeat(4_000)]),
    );
    const client = await clientWith({ ...many, WHO: "with many" });
    const run = await ended(client, await started(client, "count"));
    assert.equal(run.status, "succeeded", run.reason);
    const odd = await clientWith({ WHO: "\0" });
    await assert.rejects(started(odd, "count"), /`environment\.\d+`: it should be NAME=value/);
  });
});
