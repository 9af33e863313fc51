// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholders are the pipeline's.
import assert from "node:assert/strict";
import type { InputValues } from "../../../src/contract/pipelines.ts";
import type { RunStep } from "../../../src/contract/run.ts";
import { setValues } from "../../../src/service/store/ranPipelines.ts";
import { putSteps } from "../../../src/service/store/runs.ts";
import { until } from "../../until.ts";
import { onBoth } from "../onBoth.ts";
import { serviceOn } from "../serviceOn.ts";
import { ended, type Service, started, untilCancelled } from "../startedService.ts";

const never = new AbortController().signal;

const program = (code: string) => JSON.stringify([process.execPath, "-e", code]);

const checkout = (code = "") =>
  [
    "inputs:",
    "  base-url: \"${{ default(env.SHOP_URL, 'http://127.0.0.1:1') }}\"",
    "  region: { options: [eu, us], default: eu, description: Whose prices are used }",
    "  lamps: { type: number, default: 2 }",
    "  note: { description: What to write on the parcel }",
    "resources: { sh: { type: cli } }",
    `steps: [{ name: one, use: sh, run: ${program(code)} }]`,
    "",
  ].join("\n");

/** Sends a start request with a key of its own or a given one. @returns the status and the body. */
async function ask(service: Service, secret: string, inputs: unknown, key = "a") {
  const reply = await service.fetch("/api/runs", {
    method: "POST",
    headers: { "x-api-key": secret, "idempotency-key": key },
    body: await service.startBody("checkout", inputs === undefined ? {} : { inputs }),
  });
  return { status: reply.status, body: JSON.parse(await reply.text()) };
}

async function queued({ db }: Service): Promise<number> {
  return (await db.selectFrom("waiters").select("ticket").execute()).length;
}

onBoth("the inputs of a run", (store) => {
  it("are declared in the list of pipelines", async () => {
    await using service = await serviceOn(store);
    const { client, secret } = await service.member();
    await service.write("checkout", checkout());
    await ended(client, { runId: (await ask(service, secret, { note: "hi" })).body["run-id"] });
    const { pipelines } = await client.pipelines(service.project.name, never);
    assert.deepEqual(pipelines[0]?.inputs, [
      { name: "base-url", type: "text", required: false },
      {
        ...{ name: "region", type: "text", options: ["eu", "us"], default: "eu" },
        ...{ description: "Whose prices are used", required: false },
      },
      { name: "lamps", type: "number", default: 2, required: false },
      { name: "note", type: "text", description: "What to write on the parcel", required: true },
    ]);
  });

  it("are kept with it as they were fixed at its start, whatever their names and texts are", async () => {
    await using service = await serviceOn(store);
    const { client, secret } = await service.member();
    await service.write("checkout", checkout());
    const note = `"a":["b", 'c' \\ \t \u{1f4a1}\r\n`;
    const { status, body } = await ask(service, secret, { note, lamps: "3", "base-url": "http://x" });
    assert.equal(status, 201, JSON.stringify(body));
    const expected = { "base-url": "http://x", region: "eu", lamps: 3, note };
    assert.deepEqual(body.inputs, expected);
    const run = await ended(client, { runId: body["run-id"] });
    assert.deepEqual(run.inputs, expected);
    assert.deepEqual((await client.runs({}, never)).runs[0]?.inputs, expected);
  });

  it("that don't fit are refused, with what is missing and how to give it, and count no run", async () => {
    await using service = await serviceOn(store);
    const { client, secret } = await service.member();
    await service.write("checkout", checkout());
    const { status, body } = await ask(service, secret, { lamps: "many" });
    assert.equal(status, 400);
    assert.deepEqual(body.error.type, "invalid-request");
    assert.match(body.error.message, /^`note` is missing: a text\. What to write on the parcel$/m);
    assert.match(body.error.message, /^`lamps` should be a number, not `many`$/m);
    assert.match(body.error.next, /--input note=/);
    for (const odd of [
      { note: [] },
      { note: null },
      { "a b": "c" },
      { note: "a\0" },
      { note: "\u001b[2J" },
      [],
      "a",
    ]) {
      assert.equal((await ask(service, secret, odd)).status, 400, JSON.stringify(odd));
    }
    for (const [length, isTooMany] of [
      [100, false],
      [101, true],
    ] as const) {
      const many = Object.fromEntries(Array.from({ length }, (_, index) => [`a${index}`, "b"]));
      const { message } = (await ask(service, secret, many)).body.error;
      assert.equal(message.includes("`inputs`: at most 100 inputs"), isTooMany, message);
    }
    const long = await ask(service, secret, { note: "x".repeat(64 * 1024 + 1) });
    assert.match(long.body.error.message, /`inputs.note` is too long: at most 65536 characters/);
    assert.match((await ask(service, secret, { note: secret })).body.error.message, /holds an API key/);
    assert.equal((await client.org(never)).usage.runsToday, 0);
  });

  it("make another request of the same idempotency key, which is a conflict", async () => {
    await using service = await serviceOn(store);
    const { client, secret } = await service.member();
    await service.write("checkout", checkout());
    const first = await ask(service, secret, { note: "hi", lamps: 3 });
    const runId = first.body["run-id"];
    await ended(client, { runId });
    const same = await ask(service, secret, { lamps: "3", note: "hi" });
    assert.deepEqual([same.status, same.body["run-id"]], [201, runId]);
    for (const other of [{ note: "hi" }, { note: "hi", lamps: 4 }, { note: "hi", lamps: 3, region: "eu" }]) {
      const { status, body } = await ask(service, secret, other);
      assert.deepEqual([status, body.error?.type], [409, "conflict"], JSON.stringify(other));
      assert.match(body.error.message, /with other inputs/);
    }
    await service.write("checkout", checkout().replace("lamps:", "lights:"));
    const gone = await ask(service, secret, { note: "hi", lamps: 3 });
    assert.deepEqual([gone.status, gone.body["run-id"]], [201, runId], "the file takes no lamps any more");
    assert.equal((await client.org(never)).usage.runsToday, 1);
  });

  it("are those of the moment when a start was asked for, not of when it gets its slot", async () => {
    await using service = await serviceOn(store);
    const { client } = await service.member();
    await service.write(
      "long",
      `resources: { sh: { type: cli } }\nsteps: [{ use: sh, run: ${program(untilCancelled)} }]\n`,
    );
    await service.write("checkout", checkout());
    const long = await started(client, "long");
    const request = { pipeline: "checkout", inputs: { note: "first" } };
    const waiting = client.start(request, { waitSeconds: 60, idempotencyKey: "w" }, never);
    await Promise.race([waiting, until(async () => (await queued(service)) === 1)]);
    await service.write("checkout", checkout("process.exit(1)").replace("default: 2", "default: 7"));
    await client.cancel(long.runId, never);
    const outcome = await waiting;
    assert(outcome.kind === "started");
    const run = await ended(client, outcome.run);
    const { "base-url": _, ...inputs } = run.inputs ?? {};
    assert.deepEqual(inputs, { region: "eu", lamps: 2, note: "first" });
    assert.equal(run.status, "succeeded");
  });

  it("find their runs, as the tool writes them", async () => {
    await using service = await serviceOn(store);
    const { client, secret, orgId } = await service.member();
    await service.write("checkout", checkout());
    const note = `50% "off"\\`;
    const one = (await ask(service, secret, { note, lamps: 3 }, "1")).body["run-id"];
    await ended(client, { runId: one });
    const other = (await ask(service, secret, { note: "3" }, "2")).body["run-id"];
    await ended(client, { runId: other });
    const found = async (...input: string[]) =>
      (await client.runs({ input }, never)).runs.map(({ runId }) => runId);
    assert.deepEqual(await found("region=eu"), [other, one]);
    assert.deepEqual(await found("lamps=3"), [one]);
    assert.deepEqual(await found("note=3"), [other]);
    assert.deepEqual(await found(`note=${note}`), [one]);
    assert.deepEqual(await found("region=eu", "lamps=2"), [other]);
    for (const none of ["region=EU", "region=e", "note=%", "lamps=03", "none=eu", "region="]) {
      assert.deepEqual(await found(none), [], none);
    }
    const headers = { "x-api-key": secret };
    assert.equal((await service.fetch("/api/runs?input=region", { headers })).status, 400);
    assert.equal(orgId.startsWith("org_"), true);
  });

  it("that the run finds out are shown, too, and a new run finds them out again", async () => {
    await using service = await serviceOn(store);
    const { client, secret } = await service.member();
    await service.write("checkout", checkout());
    const runId = (await ask(service, secret, { note: "hi" })).body["run-id"];
    await ended(client, { runId });
    const found: InputValues = { region: "***", note: "***" };
    const last: RunStep[] = [
      { name: "two", type: "http", status: "failed", attempts: 3 },
      { name: "three", type: "sql", status: "not-reached" },
      { name: "four", type: "cli", status: "succeeded", cleanup: true },
    ];
    await service.db.transaction().execute(async (tx) => {
      await setValues(tx, runId, { kind: "inputs", inputs: found });
      await setValues(tx, runId, { kind: "outputs", outputs: { order: { "some-Id": [1, null, "x"] } } });
      await putSteps(tx, runId, new Map(last.map((step, at) => [at + 1, step])));
    });
    const run = await client.run(runId, never);
    assert.deepEqual(run.inputs, { "base-url": "http://127.0.0.1:1", region: "eu", lamps: 2, note: "hi" });
    assert.deepEqual(run.evaluatedInputs, ["base-url"]);
    assert.deepEqual(run.outputs, { order: { "some-Id": [1, null, "x"] } });
    assert.deepEqual(run.steps?.slice(1), last);
  });
});
