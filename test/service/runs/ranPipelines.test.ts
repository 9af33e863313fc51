// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholders are the pipeline's.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { withDefinition } from "../../../src/client/start/definition.ts";
import { markFilesRemoved } from "../../../src/service/store/runFiles.ts";
import { Visitor } from "../../page/visitor.ts";
import { until } from "../../until.ts";
import { onBoth } from "../onBoth.ts";
import { serviceOn } from "../serviceOn.ts";
import { ended, type Service, started, untilCancelled } from "../startedService.ts";

const never = new AbortController().signal;
const program = (code: string) => JSON.stringify([process.execPath, "-e", code]);
const nightly = (code: string) =>
  `resources: { sh: { type: cli } }\nsteps:\n  - { name: one, use: sh, run: ${program(code)} }\n`;
const path = "pipelines/nightly.yaml";

/** Makes the project a repository of everything that is in it. @returns what commits all of it, and gives the commit's id. */
async function repository({ root }: { readonly root: string }): Promise<() => Promise<string>> {
  const author = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"];
  const git = (...words: string[]) => execa("git", [...author, ...words], { cwd: root });
  await git("init", "-q", "-b", "main");
  return async () => {
    await git("add", ".");
    await git("commit", "-q", "-m", "a change");
    return (await git("rev-parse", "HEAD")).stdout;
  };
}

let starts = 0;

onBoth("the pipeline file of a run", (store) => {
  /** Starts the pipeline as a face in the project's folder does. @returns the run at its end. */
  async function ran(
    service: Service,
    client: Awaited<ReturnType<Service["member"]>>["client"],
    waitSeconds = 0,
  ) {
    const { name: project, root } = service.project;
    const bare = { pipeline: "nightly", project };
    const request = store.kind === "SQLite" ? bare : await withDefinition(bare, client, root, never);
    const attempt = await client.start(request, { waitSeconds, idempotencyKey: `s${++starts}` }, never);
    assert(attempt.kind === "started");
    return ended(client, attempt.run);
  }

  it("is kept with the commit, and compared with the one that passed last", async () => {
    await using service = await serviceOn(store);
    const { client } = await service.member();
    const commit = await repository(service.project);
    await service.write("nightly", nightly("process.exit(0)"));
    const first = await commit();
    const passed = await ran(service, client);
    assert.deepEqual(
      [passed.status, passed.commit],
      ["succeeded", { id: first, branch: "main", changed: false }],
    );
    assert.deepEqual(await client.changes(passed.runId, never), {});

    await service.write("nightly", nightly("process.exit(3)"));
    const second = await commit();
    await writeFile(join(service.project.root, "new"), "");
    const failed = await ran(service, client);
    assert.deepEqual(
      [failed.status, failed.commit],
      ["failed", { id: second, branch: "main", changed: true }],
    );
    assert.deepEqual(await client.ranPipeline(passed.runId, never), {
      path,
      texts: { [path]: nightly("process.exit(0)") },
    });
    const { lastPassed, diffs } = await client.changes(failed.runId, never);
    const { runId, createdAt, commit: passedAt } = passed;
    assert.deepEqual(lastPassed, { runId, createdAt, commit: passedAt, inputs: {} });
    assert.deepEqual(diffs?.[path]?.split("\n"), [
      "@@ -1,3 +1,3 @@",
      " resources: { sh: { type: cli } }",
      " steps:",
      `-  - { name: one, use: sh, run: ${program("process.exit(0)")} }`,
      `+  - { name: one, use: sh, run: ${program("process.exit(3)")} }`,
    ]);
    // Later edits change nothing of it.
    await service.write("nightly", nightly(""));
    assert.equal((await client.ranPipeline(failed.runId, never)).texts[path], nightly("process.exit(3)"));
    const { runs } = await client.runs({ status: "failed" }, never);
    assert.equal(runs[0]?.commit?.id, second);
  });

  it("is kept with the commit of a start that waited, also where the page starts it again", async () => {
    await using service = await serviceOn(store);
    const { client, secret } = await service.member();
    const commit = await repository(service.project);
    await service.write("nightly", nightly(""));
    const id = await commit();
    await service.write("long", nightly(untilCancelled));
    const long = await started(client, "long");
    const waiting = ran(service, client, 60);
    await until(async () => (await service.db.selectFrom("waiters").select("ticket").execute()).length > 0);
    await client.cancel(long.runId, never);
    const waited = await waiting;
    assert.equal(waited.commit?.id, id);
    const visitor = new Visitor(service);
    await visitor.signIn(secret);
    const reply = await visitor.post(`/app/runs/${waited.runId}/again`, {});
    const again = await ended(client, { runId: reply.headers.get("location")?.split("/").at(-1) ?? "" });
    assert.equal(again.commit?.id, id);
  });

  it("has the run's secrets masked", async () => {
    await using service = await serviceOn(store);
    const { client } = await service.member();
    await repository(service.project);
    await service.write(
      "nightly",
      `env-file: settings\n# not-to-be-seen\n${nightly("").replace("name: one", "name: one, env: { T: '${{ env.TOKEN }}' }")}`,
    );
    await writeFile(join(service.project.root, "settings"), "TOKEN=not-to-be-seen\n");
    const run = await ran(service, client);
    assert.equal(run.status, "succeeded", run.reason);
    // A new repository has no commit.
    assert.equal(run.commit, undefined);
    const { texts } = await client.ranPipeline(run.runId, never);
    assert.match(texts[path] ?? "", /# \*\*\*\n/);
    const row = await service.db.selectFrom("runs").select("source").executeTakeFirstOrThrow();
    assert.doesNotMatch(row.source ?? "", /not-to-be-seen/);
  });

  it("is of its org alone, and removed with the log", async () => {
    await using service = await serviceOn(store);
    const { client } = await service.member();
    const commit = await repository(service.project);
    await service.write("nightly", nightly(""));
    await commit();
    const { runId } = await ran(service, client);
    const stranger = service.client((await service.key("member", "other")).secret);
    for (const read of [stranger.ranPipeline(runId, never), stranger.changes(runId, never)])
      await assert.rejects(read, { type: "not-found", message: /There is no run/ });
    await service.db.transaction().execute((tx) => markFilesRemoved(tx, [runId], Date.now()));
    await assert.rejects(client.ranPipeline(runId, never), { type: "not-found", message: /were removed on/ });
  });
});
