import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { cp } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { ensureChromium } from "../../../../scripts/chromium.ts";
import { sayToStandardError } from "../../../../scripts/say.ts";
import type { RunnerEnd } from "../../../../src/contract/runners.ts";
import { parsePipeline } from "../../../../src/pipeline/parsePipeline.ts";
import type { ReadPart } from "../../../../src/pipeline/partFiles.ts";
import { LoopbackService } from "../../../client/loopbackService.ts";
import { type MysqlPrograms, mysqlPrograms } from "../../../mysql/mysqlPrograms.ts";
import { startedMysql } from "../../../mysql/startedMysql.ts";
import { postgresFolder } from "../../../postgres/installPostgres.ts";
import { postgresVariable } from "../../../postgres/lentDatabases.ts";
import { StartedPostgres } from "../../../postgres/startedPostgres.ts";
import { launchTestRun } from "../../../runner/launch/launchTestRun.ts";
import { TemporaryFolder } from "../../../temporaryFolder.ts";
import { peersServer } from "./server.ts";

const folder = import.meta.dirname;
const secret = "word-of-the-peers";

/** A scenario of another tool, as a pipeline file says it; or a part that some of them include. */
interface Scenario {
  /** Relative to this folder, with `/`. */
  readonly file: string;
  readonly text: string;
  /** The tool's file: `runn: testdata/book/…`. Undefined for a part. */
  readonly peer: string | undefined;
  /** A part of the run's message; undefined where the run succeeds. */
  readonly says: string | undefined;
}

interface Ran {
  readonly end: RunnerEnd | { readonly kind: "invalid"; readonly problems: readonly string[] };
  readonly output: string;
}

const scenarios = globSync("{runn,venom}/**/*.yaml", { cwd: folder }).sort().map(readScenario);

function readScenario(path: string): Scenario {
  const file = path.replaceAll("\\", "/");
  const text = readFileSync(join(folder, path), "utf8");
  const peer = /^# ((?:runn|venom): .+)$/m.exec(text)?.[1];
  const says = /^# says: (.+)$/m.exec(text)?.[1];
  assert.equal(
    says !== undefined,
    text.includes("\n# ends: failed\n") || text.startsWith("# ends: failed\n"),
    file,
  );
  return { file, text, peer, says };
}

function readPart(path: string): ReturnType<ReadPart> {
  return { kind: "read", text: readFileSync(join(folder, path), "utf8") };
}

const held = new AsyncDisposableStack();
const [mysql] = mysqlPrograms();
const postgres = postgresFolder();

/** How the databases are started that there can be on this machine, by the variables with their addresses. */
const databases: ReadonlyMap<string, () => Promise<string>> = new Map([
  ...(mysql === undefined ? [] : [["PEERS_MYSQL", () => startMysql(mysql)] as const]),
  ...(postgres === undefined ? [] : [["PEERS_POSTGRES", () => startPostgres(postgres)] as const]),
]);

async function startMysql(programs: MysqlPrograms): Promise<string> {
  const { password, port } = held.use(await startedMysql(programs, AbortSignal.timeout(290_000)));
  return `mysql://app:${encodeURIComponent(password)}@127.0.0.1:${port}/shop`;
}

async function startPostgres(native: string): Promise<string> {
  const start = () => StartedPostgres.start(native, AbortSignal.timeout(290_000));
  return `${process.env[postgresVariable] ?? held.use(await start()).server}postgres`;
}

/** Where a database isn't to be had, the scenarios with it are no tests. */
function isRunHere({ text }: Scenario): boolean {
  const needed = /\benv\.(PEERS_(?:MYSQL|POSTGRES))\b/g;
  return [...text.matchAll(needed)].every(([, name]) => name !== undefined && databases.has(name));
}

describe("the scenarios of other tools", function () {
  this.timeout(60_000);
  if (process.platform === "win32") return;
  const ran = new Map<Scenario, PromiseWithResolvers<Ran>>(
    scenarios.filter(isRunHere).map((scenario) => [scenario, Promise.withResolvers<Ran>()]),
  );

  before(async function () {
    // The first time, databases come from npm.
    this.timeout(300_000);
    const service = held.use(await LoopbackService.listen(peersServer()));
    const { path: root } = held.use(await TemporaryFolder.make());
    await cp(folder, root, { recursive: true, filter: (path) => !path.endsWith(".ts") });
    const env = {
      ...process.env,
      PEERS_URL: service.origin,
      PEERS_HOST: service.host,
      PEERS_TOKEN: secret,
      PEERS_PLACE: "floor",
      PEERS_WORD: "from the environment",
      ...Object.fromEntries(
        await Promise.all([...databases].map(async ([name, start]) => [name, await start()])),
      ),
      PIPELINE_BROWSER: await ensureChromium(sayToStandardError, new AbortController().signal),
    };
    const waiting = ran.entries();
    for (let worker = 0; worker < availableParallelism(); worker += 1) void work();

    /** Runs one scenario after the other, in the order in which the tests ask for them. */
    async function work(): Promise<void> {
      for (const [scenario, { resolve, reject }] of waiting)
        await runScenario(scenario).then(resolve, reject);
    }

    async function runScenario({ file, text }: Scenario): Promise<Ran> {
      const parsed = parsePipeline(text, file, readPart);
      if (parsed.kind === "invalid") {
        const problems = parsed.problems.map(({ line, column, message }) => `${line}:${column}: ${message}`);
        return { end: { kind: "invalid", problems }, output: "" };
      }
      const artifacts = held.use(await TemporaryFolder.make());
      const { job, outputs } = launchTestRun(root, parsed.pipeline, { env }, artifacts.path);
      return { end: await job.ended, output: outputs.map((output) => output.text).join("") };
    }
  });
  after(() => held.disposeAsync());

  for (const scenario of ran.keys()) {
    it(`${scenario.file}${scenario.says === undefined ? "" : " fails"}`, async () => {
      const { end, output } = (await ran.get(scenario)?.promise) ?? assert.fail();
      if (scenario.says === undefined) assert.deepEqual(end, { kind: "succeeded" }, output);
      else {
        assert.ok(end.kind === "failed", `${JSON.stringify(end)}\n${output}`);
        assert.ok(end.message.includes(scenario.says), end.message);
      }
      assert.ok(!`${JSON.stringify(end)}${output}`.includes(secret));
    });
  }

  it("are those that README.md counts, each once, and the others are named there with a reason", () => {
    const readme = readFileSync(join(folder, "README.md"), "utf8");
    const said = scenarios.flatMap(({ peer }) => peer ?? []);
    const unsaid = [...readme.matchAll(/^- `((?:runn|venom): [^`]+)`/gm)].flatMap(([, peer]) => peer ?? []);
    assert.equal(new Set([...said, ...unsaid]).size, said.length + unsaid.length);
    assert.equal(said.length + unsaid.length, 222);
    assert.match(readme, new RegExp(`\\b${said.length} of the 222\\b`));
    assert.ok(said.length >= 110);
  });
});
