import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { withDefinition } from "../../src/client/start/definition.ts";
import { Visitor } from "../page/visitor.ts";
import { postgresFolder } from "../postgres/installPostgres.ts";
import { databasesForSuite } from "../postgres/lentDatabases.ts";
import { serviceOn } from "../service/serviceOn.ts";
import { ended } from "../service/startedService.ts";

const never = new AbortController().signal;
const program = JSON.stringify([process.execPath, "-e", ""]);
const including = "resources: { sh: { type: cli } }\nsteps:\n  - { include: parts/login.yaml }\n";
const part = `resources: { sh: { type: cli } }\nsteps: [{ name: log in, use: sh, run: ${program} }]\n`;

describe("the files that a pipeline includes, on a service of many machines", () => {
  const native = postgresFolder();
  // Where there is no PostgreSQL for the tests, there are no tests of it.
  if (native === undefined) return;
  const lend = databasesForSuite(native);

  it("come with its start, run on another machine, and are there when the page starts it again", async () => {
    await using service = await serviceOn({ kind: "PostgreSQL", lend });
    const { client, secret } = await service.member();
    const { name: project, root } = service.project;
    await service.write("site", including);
    await mkdir(join(root, "parts"));
    await writeFile(join(root, "parts/login.yaml"), part);
    await execa("git", ["init", "-q"], { cwd: root });
    const whole = await withDefinition({ pipeline: "site", project }, client, root, never);
    assert.deepEqual(whole.definition?.parts, { "parts/login.yaml": part });
    const attempt = await client.start(whole, { waitSeconds: 0, idempotencyKey: "first" }, never);
    assert(attempt.kind === "started");
    const first = await ended(client, attempt.run);
    const visitor = new Visitor(service);
    await visitor.signIn(secret);
    const reply = await visitor.post(`/app/runs/${first.runId}/again`, {});
    const runId = reply.headers.get("location")?.split("/").at(-1) ?? "";
    const again = await ended(client, { runId });
    for (const { status, steps } of [first, again]) {
      assert.deepEqual([status, steps?.map(({ name }) => name)], ["succeeded", ["parts/login.yaml: log in"]]);
    }
  });

  it("are missed before the run where they didn't come", async () => {
    await using service = await serviceOn({ kind: "PostgreSQL", lend });
    const { client } = await service.member();
    const { name: project } = service.project;
    for (const parts of [undefined, {}, { "parts/other.yaml": part }]) {
      const definition = { path: "pipelines/site.yaml", text: including, ...(parts && { parts }) };
      const options = { waitSeconds: 0, idempotencyKey: "a" };
      await assert.rejects(client.start({ pipeline: "site", project, definition }, options, never), {
        type: "invalid-request",
        message: /`parts\/login\.yaml` can't be read: it didn't come with the start/,
      });
    }
    assert.equal((await client.org(never)).usage.runsToday, 0);
  });
});
