// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions as pipeline files write them.
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Run } from "../../../src/contract/run.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import { until } from "../../until.ts";
import { onBoth } from "../onBoth.ts";
import { serviceOn } from "../serviceOn.ts";
import {
  ended,
  type Service,
  started,
  startedService,
  untilFile,
  writePidTo,
  writtenPid,
} from "../startedService.ts";

const never = new AbortController().signal;

/** A step that runs JavaScript. */
function program(name: string, code: string, more: object = {}) {
  return { name, use: "shell", run: [process.execPath, "-e", code], ...more };
}

/** A pipeline whose step never ends by itself; its cleanup writes `tidied`, once `go` is there if it has to wait. */
function cleaning({ project }: Service, waits = false): string {
  const at = (file: string) => join(project.root, file);
  const note = `require('node:fs').appendFileSync(${JSON.stringify(at("tidied"))}, 'tidied ');`;
  const go = waits ? untilFile(at("go")) : "";
  return JSON.stringify({
    "time-limit": "20s",
    "finally-limit": "10s",
    inputs: { lamps: 2, where: "${{ run.pipeline }}" },
    resources: { shell: { type: "cli" } },
    steps: [program("long", `${writePidTo(at("pid"))} setInterval(() => {}, 1e6);`), program("never", "")],
    finally: [program("tidy", `${note} ${writePidTo(at("tidy-pid"))} ${go}`)],
    outputs: { lamps: "${{ inputs.lamps }}" },
  });
}

function stepsOf({ steps = [] }: Run): string[] {
  return steps.map(({ name, status }) => `${name} ${status}`);
}

async function inStep(service: Service, waits = false) {
  const { client } = await service.member();
  await service.write("cleaning", cleaning(service, waits));
  const run = await started(client, "cleaning");
  await writtenPid(join(service.project.root, "pid"));
  await until(async () => (await client.run(run.runId, never)).steps?.[0]?.status === "running");
  return { client, run };
}

onBoth("a run that cleans up", (store) => {
  it("does so when it is cancelled, and keeps what it was given", async () => {
    await using service = await serviceOn(store);
    const { client, run } = await inStep(service);
    await client.cancel(run.runId, never);
    const end = await ended(client, run);
    assert.equal(end.status, "cancelled");
    assert.deepEqual(stepsOf(end), ["long stopped", "never not-reached", "tidy succeeded"]);
    assert.deepEqual(end.inputs, { lamps: 2, where: "cleaning" });
    assert.equal(end.outputs, undefined);
    assert.equal(readFileSync(join(service.project.root, "tidied"), "utf8"), "tidied ");
  });

  it("tells of each step at its own place while it cleans up", async () => {
    await using service = await serviceOn(store);
    const { client, run } = await inStep(service, true);
    await client.cancel(run.runId, never);
    await writtenPid(join(service.project.root, "tidy-pid"));
    const tidies = async () => stepsOf(await client.run(run.runId, never)).includes("tidy running");
    await until(tidies);
    const now = await client.run(run.runId, never);
    assert.deepEqual(stepsOf(now), ["long stopped", "never not-reached", "tidy running"]);
    writeFileSync(join(service.project.root, "go"), "");
    await ended(client, run);
  });

  it("keeps its outputs when it succeeds", async () => {
    await using service = await serviceOn(store);
    const { client } = await service.member();
    const steps = [program("one", "console.log(JSON.stringify({ n: 7 }))", { id: "one" })];
    const outputs = { n: "${{ steps.one.json.n }}", all: ["${{ inputs.lamps }}"] };
    const file = { inputs: { lamps: 2 }, resources: { shell: { type: "cli" } }, steps, outputs };
    await service.write("giving", JSON.stringify(file));
    const end = await ended(client, await started(client, "giving"));
    assert.deepEqual(end.outputs, { n: 7, all: [2] });
  });
});

describe("a run of the embedded service that cleans up", () => {
  it("ends its steps before its time limit, and itself at it", async () => {
    const clock = new FakeClock("2026-03-03T10:00:00Z");
    await using service = await startedService({ clock });
    const { client, run } = await inStep(service, true);
    clock.advance(9_999);
    assert.equal(existsSync(join(service.project.root, "tidied")), false);
    clock.advance(1);
    await writtenPid(join(service.project.root, "tidy-pid"));
    clock.advance(10_000);
    const end = await ended(client, run);
    assert.equal(end.status, "timed-out");
    assert.match(
      end.reason ?? "",
      /^reached its time limit of 20 s \(10 s for its steps\) during the step `long`; `time/,
    );
    assert.deepEqual(stepsOf(end), ["long stopped", "never not-reached", "tidy stopped"]);
  });

  it("is ended by a second cancel, and stays cancelled", async () => {
    const clock = new FakeClock("2026-03-03T10:00:00Z");
    await using service = await startedService({ clock });
    const { client, run } = await inStep(service, true);
    await client.cancel(run.runId, never);
    await client.cancel(run.runId, never);
    await writtenPid(join(service.project.root, "tidy-pid"));
    clock.advance(1_000);
    await client.cancel(run.runId, never);
    const end = await ended(client, run);
    assert.equal(end.status, "cancelled");
    assert.deepEqual(stepsOf(end).slice(2), ["tidy stopped"]);
  });

  it("is ended behind its time limit by a second cancel, and not by the first", async () => {
    const clock = new FakeClock("2026-03-03T10:00:00Z");
    await using service = await startedService({ clock });
    const { client, run } = await inStep(service, true);
    clock.advance(10_000);
    await writtenPid(join(service.project.root, "tidy-pid"));
    clock.advance(1_000);
    // Twice, as by a double click.
    for (const _ of [1, 2]) {
      assert.deepEqual(await client.cancel(run.runId, never), { runId: run.runId, status: "cancelling" });
    }
    assert.equal((await client.run(run.runId, never)).status, "cancelling");
    clock.advance(1_000);
    await client.cancel(run.runId, never);
    const end = await ended(client, run);
    assert.equal(end.status, "timed-out");
    assert.deepEqual(stepsOf(end).slice(2), ["tidy stopped"]);
  });

  it("does so when the service is stopped in order", async () => {
    await using service = await startedService();
    const { run } = await inStep(service, true);
    const stopped = service.stop();
    await writtenPid(join(service.project.root, "tidy-pid"));
    writeFileSync(join(service.project.root, "go"), "");
    await stopped;
    const row = await service.db
      .selectFrom("runs")
      .select("status")
      .where("id", "=", run.runId)
      .executeTakeFirst();
    assert.equal(row?.status, "cancelled");
  });
});
