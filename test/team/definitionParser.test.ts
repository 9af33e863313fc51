import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { systemClock } from "../../src/machine/clock.ts";
import type { PipelineOrProblems } from "../../src/pipeline/pipeline.ts";
import { DefinitionParser } from "../../src/team/definitionParser.ts";
import { FakeClock } from "../clock/fakeClock.ts";
import { postgresFolder } from "../postgres/installPostgres.ts";
import { databasesForSuite } from "../postgres/lentDatabases.ts";
import { parserPath } from "../service/programs.ts";
import { serviceOn } from "../service/serviceOn.ts";
import { ended } from "../service/startedService.ts";
import { TemporaryFolder } from "../temporaryFolder.ts";
import { until } from "../until.ts";
import { Team } from "./team.ts";

const never = new AbortController().signal;
const path = "pipelines/hello.yaml";
const shell = "resources: { sh: { type: cli } }\n";
const ordinary = { path, text: `${shell}steps: [{ use: sh, run: echo }]\n` };
/** Parsing it takes seconds. */
const partNames = Array.from({ length: 20 }, (_, index) => `parts/${index}.yaml`);
const hostile = {
  path,
  text: `${shell}steps:\n${partNames.map((name) => `  - include: ${name}\n`).join("")}`,
  parts: Object.fromEntries(partNames.map((name) => [name, "{a: ".repeat(15_000)])),
};

describe("the thread that parses definitions", () => {
  function started(threadPath = parserPath, clock: FakeClock | undefined = undefined) {
    const ending = new AbortController();
    const logged: string[] = [];
    const log = (_: string, text: string) => void logged.push(text);
    const options = { threadPath, stopping: ending.signal, log, clock: clock ?? systemClock };
    return {
      parser: new DefinitionParser(options),
      logged,
      stop: () => ending.abort(),
      [Symbol.dispose]: () => ending.abort(),
    };
  }

  const problemOf = (parsed: PipelineOrProblems) =>
    parsed.kind === "invalid" ? parsed.problems[0].message : "";

  it("is ended at the time limit, refuses that definition, and answers the next", async () => {
    await using folder = await TemporaryFolder.make();
    const threadPath = join(folder.path, "thread.mjs");
    await writeFile(
      threadPath,
      `import { parentPort } from "node:worker_threads";
      parentPort.on("message", ({ text }) => {
        while (text === "endless");
        parentPort.postMessage('{"kind":"valid"}');
      });
      parentPort.postMessage("ready");`,
    );
    const clock = new FakeClock();
    using thread = started(threadPath, clock);
    const endless = thread.parser.parse("evil", { path, text: "endless" });
    const next = thread.parser.parse("acme", ordinary);
    await until(async () => clock.alarmsIn(2_000) === 1);
    clock.advance(2_000);
    assert.match(problemOf(await endless), /takes too long to read/);
    assert.equal((await next).kind, "valid");
    assert.deepEqual([thread.logged.length, clock.alarms], [1, 0]);
  });

  it("takes turns between orgs", async () => {
    using thread = started();
    const done: string[] = [];
    await Promise.all(
      ["evil", "evil", "evil", "acme", "evil"].map(async (org) => {
        assert.equal((await thread.parser.parse(org, ordinary)).kind, "valid");
        done.push(org);
      }),
    );
    assert.deepEqual(done, ["evil", "acme", "evil", "evil", "evil"]);
  });

  it("refuses what would fill the memory with texts that are in many places", async () => {
    using thread = started(parserPath, new FakeClock());
    const part = `${shell}steps:\n  - { use: sh, run: "${"a".repeat(900_000)}" }\n`;
    const text = `steps:\n${"  - include: parts/long.yaml\n".repeat(20)}`;
    const definition = { path, text, parts: { "parts/long.yaml": part } };
    assert.match(
      problemOf(await thread.parser.parse("evil", definition)),
      /too long with its parts put in place/,
    );
    assert.equal((await thread.parser.parse("evil", ordinary)).kind, "valid");
  });

  it("ends with its server, also while it parses", async () => {
    const thread = started(parserPath, new FakeClock());
    const parsing = [thread.parser.parse("evil", hostile), thread.parser.parse("acme", ordinary)];
    const refused = Promise.all(parsing.map((each) => assert.rejects(each, { name: "AbortError" })));
    thread.stop();
    await refused;
  });
});

describe("definitions, on a server of many machines", () => {
  const native = postgresFolder();
  // Where there is no PostgreSQL for the tests, there are no tests of it.
  if (native === undefined) return;
  const lend = databasesForSuite(native);

  it("keep it from no other request, however long they take to read", async () => {
    await using team = await Team.make(await lend());
    const [server] = team.servers;
    let isAnswered = false;
    const starting = fetch(`${server?.url}/api/runs`, {
      method: "POST",
      headers: { "x-api-key": await team.key("member", "evil") },
      body: JSON.stringify({ pipeline: "hello", project: "shop", definition: hostile }),
    }).finally(() => {
      isAnswered = true;
    });
    for (let count = 0; count < 10; count++) {
      assert.equal((await fetch(`${server?.url}/readyz`)).status, 200);
      assert.equal(isAnswered, false);
    }
    const reply = await starting;
    assert.equal(reply.status, 400);
    assert.match(await reply.text(), /takes too long to read|can't be run/);
  });

  it("are as large as a file may be", async () => {
    await using service = await serviceOn({ kind: "PostgreSQL", lend });
    const { client } = await service.member();
    await service.write("hello", `${ordinary.text}${`# ${"a".repeat(70)}\n`.repeat(2_000)}`);
    const { name: project } = service.project;
    const options = { idempotencyKey: "key-1", waitSeconds: 0 };
    const attempt = await client.start({ pipeline: "hello", project }, options, never);
    assert(attempt.kind === "started");
    assert.equal((await ended(client, attempt.run)).status, "succeeded");
  });
});
