import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { basename, join } from "node:path";
import { readConnection } from "../../../src/machine/connectionFile.ts";
import { isAlive } from "../../isAlive.ts";
import { programPipeline, untilCancelled } from "../../service/startedService.ts";
import { at, givenService, sendShape, startsAnswered } from "./givenService.ts";
import { row, rowCase } from "./row.ts";
import { type Member, type ServedTool, servedTool } from "./servedTool.ts";
import { onlyObject, type Told, watchedTool } from "./watchedTool.ts";

describe("conformance: the command-line tool", () => {
  let served: ServedTool;
  before(async () => {
    served = await servedTool();
    await served.write("hello", programPipeline("console.log('said by the run')"));
    await served.write("long", programPipeline(untilCancelled, "1h"));
    await served.write("broken", programPipeline("process.exit(7)"));
  });
  after(() => served[Symbol.asyncDispose]());

  const statusOf = async (someone: Member, run: Told): Promise<string> =>
    (await someone.told("GET", `/api/runs/${run["run-id"]}`)).status;

  row("description, Versioning: rule 1", "its version is 0.4.0 or later", async () => {
    const { stdout, exitCode } = await served.run(["--version"]);
    assert.equal(exitCode, 0);
    const [major = 0, minor = 0] = /^(\d+)\.(\d+)\.\d+$/.exec(stdout)?.slice(1).map(Number) ?? [];
    assert(major > 0 || minor >= 4, stdout);
  });

  row(
    "description, Command-line tool: <cli> run <pipeline>",
    "starts a run of the pipeline that is named",
    async () => {
      const someone = await served.member();
      const { exitCode } = await served.run(["run", "hello"], someone.env);
      assert.equal(exitCode, 0);
      const { runs } = await someone.told("GET", "/api/runs");
      assert.deepEqual(
        runs.map(({ pipeline }: Told) => pipeline),
        ["hello"],
      );
    },
  );

  row(
    "contract, The command-line tool: pipeline run <pipeline>…",
    "follows each until it stops; with --detach returns before",
    async () => {
      const someone = await served.member();
      const several = await served.json(["run", "broken", "hello"], someone.env);
      assert.equal(several.exitCode, 1);
      assert.deepEqual(
        several.told.runs.map(({ pipeline, status }: Told) => `${pipeline} ${status}`),
        ["broken failed", "hello succeeded"],
      );
      const detached = await served.json(["run", "long", "--detach"], someone.env);
      assert.equal(detached.exitCode, 0);
      const [run] = detached.told.runs;
      assert.equal(run.status, "running");
      assert.equal(await statusOf(someone, run), "running");
      await someone.told("POST", `/api/runs/${run["run-id"]}/cancel`);
    },
  );

  row(
    "contract, The command-line tool: --parallel <N>",
    "the lower of N and the org's limit, with one warning",
    async () => {
      await served.write("pair", pairPipeline);
      const someone = await orgWithSlots(2, "Two slots");
      // Each of the two ends only when the other one is there too: they must be active together.
      const { exitCode, told, stderr } = await served.json(
        ["run", "pair", "pair", "--parallel", "9"],
        someone.env,
      );
      assert.equal(exitCode, 0, stderr);
      assert.equal(told.warnings.length, 1);
      assert.match(told.warnings[0], /--parallel.*\b9\b.*\b2\b/);
      assert.equal(stderr.split("\n").filter((line) => /warning/.test(line)).length, 1);
    },
  );

  row(
    [
      "contract, The command-line tool: pipeline runs cancel <id>",
      "description, Command-line tool: <cli> runs cancel <id>",
    ],
    "cancels it and says its status; one that has stopped is no error",
    async () => {
      const someone = await served.member();
      const run = await someone.start("long");
      const cancel = () => served.json(["runs", "cancel", run["run-id"]], someone.env);
      const first = await cancel();
      assert.deepEqual([first.exitCode, first.told.runs[0]["run-id"]], [0, run["run-id"]]);
      await someone.stopped(run["run-id"]);
      const again = await cancel();
      assert.deepEqual([again.exitCode, again.told.runs[0].status], [0, "cancelled"]);
    },
  );

  row(
    [
      "contract, The command-line tool: pipeline runs cancel --mine",
      "description, Command-line tool: <cli> runs cancel --mine",
    ],
    "cancels every active run that the caller's key started, and nothing else; none is no error",
    async () => {
      const someone = await orgWithSlots(3, "Mine and theirs");
      const other = await served.member("member", "Mine and theirs");
      const none = await served.calledJson(["runs", "cancel", "--mine"], someone.env);
      assert.deepEqual([none.exitCode, none.told.runs], [0, []]);
      const runs = [await someone.start("long"), await someone.start("long")];
      const theirs = await other.start("long");
      const { told, exitCode } = await served.json(["runs", "cancel", "--mine"], someone.env);
      assert.equal(exitCode, 0);
      const ids = (list: readonly Told[]) => list.map((run) => run["run-id"]).toSorted();
      assert.deepEqual(ids(told.runs), ids(runs));
      for (const run of runs) assert.equal((await someone.stopped(run["run-id"])).status, "cancelled");
      assert.deepEqual(ids((await someone.told("GET", "/api/runs?status=in-work")).runs), ids([theirs]));
      await other.told("POST", `/api/runs/${theirs["run-id"]}/cancel`);
    },
  );

  row(
    "contract, The command-line tool: pipeline runs list, pipeline…",
    "every command of the row is there, with its help",
    async () => {
      const commands = [
        "runs list",
        "runs show",
        "runs log",
        "org",
        "pipelines",
        "validate",
        "login",
        "logout",
        "serve",
        "keys create",
        "keys list",
        "keys revoke",
      ];
      await Promise.all(
        commands.map(async (command) => {
          const { exitCode, stdout } = await served.call([...command.split(" "), "--help"]);
          assert.equal(exitCode, 0, command);
          assert.match(stdout, new RegExp(`Usage: pipeline ${command}\\b`));
        }),
      );
    },
  );

  row(
    "contract, The command-line tool: rule 6",
    "with --json each command prints one object, good or bad",
    async () => {
      const someone = await served.member();
      await using gone = await givenService();
      const good: readonly (readonly string[])[] = [
        ["runs", "list"],
        ["runs", "cancel", "--mine"],
        ["org"],
        ["keys", "list"],
        ["page"],
      ];
      assert.equal((await served.json(["run", "hello"], someone.env)).told.command, "run");
      await eachOf(good, async (args) => {
        const { told, exitCode } = await served.calledJson(args, someone.env);
        assert.equal(exitCode, 0, args.join(" "));
        assert.equal(told.ok, true);
        assert.equal(told.command, args.slice(0, /^(runs|keys)$/.test(args[0] ?? "") ? 2 : 1).join(" "));
      });
      const bad: readonly (readonly [readonly string[], Readonly<Record<string, string>>])[] = [
        [["run", "no-such"], someone.env],
        [["runs", "cancel", "run_none"], someone.env],
        [["org"], { ...someone.env, PIPELINE_API_KEY: "plr_wrong" }],
        [["runs", "list"], at(gone)],
        [["runs", "cancel"], someone.env],
        [["run"], someone.env],
        [["org", "--no-such-option"], someone.env],
      ];
      await eachOf([...bad.entries()], async ([index, [args, env]]) => {
        const { told, exitCode } = await (index === 0 ? served.json : served.calledJson)(args, env);
        assert.notEqual(exitCode, 0, args.join(" "));
        assert.equal(told.ok, false);
        assert.equal(typeof told.command, "string");
        assert.deepEqual([typeof told.error.type, typeof told.error.message], ["string", "string"]);
      });
    },
  );

  row(
    "contract, The command-line tool: rule 7",
    "progress and prose are on standard error, also when it ends badly",
    async () => {
      const someone = await served.member();
      const { stdout, stderr } = await served.run(["run", "hello"], someone.env);
      const { runs } = await someone.told("GET", "/api/runs");
      assert.match(stderr, /hello/);
      assert.equal(stdout.split("\n").length, 1);
      assert(stdout.includes(runs[0]["run-id"]));
      const json = await served.call(["run", "broken", "--json"], someone.env);
      onlyObject(json.stdout);
      assert.notEqual(json.stderr, "");
      const wrong = await served.call(["org"], { ...someone.env, PIPELINE_API_KEY: "plr_wrong" });
      assert.equal(wrong.stdout, "");
      assert.notEqual(wrong.stderr, "");
    },
  );

  row(
    "contract, The command-line tool: rule 8",
    "0 done, 1 no success, 2 wrong usage, 3 no or refused key, 4 out of reach, 5 a limit",
    async () => {
      const someone = await served.member();
      await using refusing = await startsAnswered((_, response) =>
        sendShape(response, { name: "", body: '{"error":"too-many-runs","scope":"free-day"}' }),
      );
      await using nonsense = await givenService({ org: { usage: "none" } });
      const gone = await givenService();
      const goneEnv = at(gone);
      await gone[Symbol.asyncDispose]();
      const noKey = { ...someone.env, PIPELINE_API_KEY: "" };
      const viewer = await served.member("viewer");
      const calls: readonly (readonly [number, readonly string[], Readonly<Record<string, string>>])[] = [
        [0, ["run", "hello"], someone.env],
        [0, ["--help"], {}],
        [1, ["run", "broken"], someone.env],
        [1, ["run", "long", "--time-limit", "1"], someone.env],
        [2, ["run"], someone.env],
        [2, ["no-such-command"], {}],
        [2, ["run", "hello", "--no-such-option"], someone.env],
        [2, ["run", "hello", "--parallel", "0"], someone.env],
        [2, ["run", "hello", "--parallel", "1.5"], someone.env],
        [2, ["run", "no-such-pipeline"], someone.env],
        [2, ["runs", "cancel", "run_none"], someone.env],
        [3, ["org"], noKey],
        [3, ["org"], { ...someone.env, PIPELINE_API_KEY: "plr_wrong" }],
        [3, ["run", "hello", "--project", "shop"], viewer.env],
        [4, ["org"], goneEnv],
        [4, ["org"], at(nonsense)],
        [5, ["run", "nightly"], at(refusing)],
      ];
      // Runs of one org come one after the other: it has one slot, and a wait for it is not what is looked at here.
      const ofRuns = calls.filter(([, args, env]) => args[0] === "run" && env === someone.env);
      const others = calls.filter((call) => !ofRuns.includes(call));
      // The first call of each code is a process, whose code is made of a command's in one way.
      const check = async (call: (typeof calls)[number]): Promise<void> => {
        const [code, args, env] = call;
        const isFirst = calls.find(([other]) => other === code) === call;
        const { exitCode } = await (isFirst ? served.run : served.call)(args, env);
        assert.equal(exitCode, code, args.join(" "));
      };
      const runsInTurn = async (): Promise<void> => {
        for (const call of ofRuns) await check(call);
      };
      await Promise.all([runsInTurn(), eachOf(others, check)]);
    },
  );

  row(
    "contract, The command-line tool: rule 10",
    "`serve` stays, and its first line with --json has these fields",
    async () => {
      assert.deepEqual(served.told, { ok: true, command: "serve", url: served.url, pid: served.pid });
      assert.match(served.url, /^http:\/\/127\.0\.0\.1:[1-9]\d*$/);
      assert.equal((await fetch(`${served.url}/healthz`)).status, 200);
      assert(isAlive(served.pid ?? 0));
      const { url } = (await readConnection(served.data)) ?? {};
      assert.equal(url, served.url, "it serves the folder that was named");
    },
  );

  rowCase(
    "contract, The command-line tool: rule 10",
    "`--port` and `--data-dir` are kept to; a taken port is wrong usage",
    async () => {
      const folder = join(served.project, "other data");
      await mkdir(folder);
      const { port } = new URL(served.url);
      const { exitCode, stderr } = await served.run(["serve", "--port", port, "--data-dir", folder]);
      assert.equal(exitCode, 2);
      assert.match(stderr, new RegExp(port));
    },
  );

  row(
    "contract, The command-line tool: rule 11",
    "`keys create` beside a running service: these fields, and the org when there is none",
    async () => {
      const line = (role: string) => ["keys", "create", "--role", role, "--org", "New here"];
      const owner = await served.json(line("owner"));
      const [member, viewer] = [
        await served.calledJson(line("member")),
        await served.calledJson(line("viewer")),
      ];
      const orgIds = new Set<string>();
      for (const [role, { told, exitCode }] of Object.entries({ owner, member, viewer })) {
        assert.equal(exitCode, 0);
        assert.deepEqual(Object.keys(told), ["ok", "command", "org-id", "key-id", "role", "api-key"]);
        assert.deepEqual([told.ok, told.command, told.role], [true, "keys create", role]);
        orgIds.add(told["org-id"]);
        const reply = await fetch(`${served.url}/api/org`, { headers: { "x-api-key": told["api-key"] } });
        const org: Told = await reply.json();
        assert.deepEqual(
          [org.actor, org["org-id"], org["org-name"]],
          [told["key-id"], told["org-id"], "New here"],
        );
      }
      assert.equal(orgIds.size, 1);
      const wrong = await served.call(line("king"));
      assert.equal(wrong.exitCode, 2);
    },
  );

  row(
    "contract, The command-line tool: rule 13",
    "the root is found upward; the name is the folder's, or what --project says",
    async () => {
      const someone = await served.member();
      const root = join(served.project, "shops", "lamp shop");
      const deep = join(root, "src", "deep");
      await mkdir(join(root, "pipelines"), { recursive: true });
      await mkdir(deep, { recursive: true });
      await writeFile(join(root, "pipelines", "here.yaml"), programPipeline(""));
      await writeFile(join(root, "pipelines", "ignored.yml"), programPipeline(""));
      const run = async (...args: string[]) => {
        const { exitCode, stdout } = await served.call(["run", ...args, "--json"], someone.env, deep);
        return { exitCode, told: onlyObject(stdout) };
      };
      const { exitCode, stdout, stderr } = await served.spawn(["run", "here", "--json"], someone.env, deep);
      const found = { exitCode, told: onlyObject(served.watched({ exitCode, stdout, stderr }).stdout) };
      assert.deepEqual([found.exitCode, found.told.runs[0].project], [0, basename(root)]);
      const named = await run("here", "--project", "lamps");
      assert.deepEqual([named.exitCode, named.told.runs[0].project], [0, "lamps"]);
      assert.equal((await run("hello")).exitCode, 2, "the nearest project is the one");
      assert.equal((await run("ignored")).exitCode, 2, "another file is no pipeline");
    },
  );

  row(
    "contract, The command-line tool: rule 14",
    "both name another service, and one without the other is told",
    async () => {
      await using given = await givenService({ org: { "org-name": "Elsewhere" } });
      const { told } = await served.json(["org"], at(given));
      assert.equal(told["org-name"], "Elsewhere");
      const orgsAsked = () => given.asked.filter(({ path }) => path === "/api/org").length;
      const asked = orgsAsked();
      const { PIPELINE_BASE_URL, PIPELINE_API_KEY } = at(given);
      const [noKey, noUrl] = await Promise.all([
        served.call(["org"], { PIPELINE_BASE_URL }),
        served.call(["org"], { PIPELINE_API_KEY }),
      ]);
      assert.deepEqual([noKey.exitCode, noUrl.exitCode], [3, 2]);
      assert.match(noKey.stderr, /PIPELINE_API_KEY/);
      assert.match(noUrl.stderr, /PIPELINE_BASE_URL/);
      assert.equal(orgsAsked(), asked, "neither was asked");
    },
  );

  describe("without a service named", () => {
    let own: Awaited<ReturnType<typeof watchedTool>>;
    before(async () => {
      own = await watchedTool();
      await own.write("hello", programPipeline(""));
    });
    after(() => own[Symbol.asyncDispose]());

    row(
      "contract, The command-line tool: rule 12",
      "the service's folder is the one that PIPELINE_DATA_DIR names",
      async () => {
        const folder = join(own.project, "named by hand");
        const made = await own.json(["keys", "create", "--role", "owner", "--org", "There"], {
          PIPELINE_DATA_DIR: folder,
        });
        assert.equal(made.exitCode, 0);
        const listed = (env: Readonly<Record<string, string>>) => own.json(["keys", "list"], env);
        const [there, here] = await Promise.all([listed({ PIPELINE_DATA_DIR: folder }), listed({})]);
        assert.deepEqual(
          there.told.keys.map((key: Told) => key["org-name"]),
          ["There"],
        );
        assert(!JSON.stringify(here.told).includes("There"));
      },
    );

    row(
      "contract, The command-line tool: rule 15",
      "this machine's own service is started, once, and used again",
      async () => {
        assert.equal(await readConnection(own.data), undefined);
        const first = await own.run(["run", "hello"]);
        assert.equal(first.exitCode, 0, first.stderr);
        const connection = await readConnection(own.data);
        assert(connection !== undefined && isAlive(connection.pid));
        const { told } = await own.json(["org"]);
        assert.equal(told.usage["runs-today"], 1);
        assert.deepEqual(await readConnection(own.data), connection);
      },
    );
  });

  /** A member of an org with so many slots. */
  async function orgWithSlots(count: number, orgName: string): Promise<Member> {
    const someone = await served.member("member", orgName);
    await served.db
      .updateTable("orgs")
      .set({ parallel_runs: count })
      .where("id", "=", someone.orgId)
      .execute();
    return someone;
  }
});

/** A run that ends well as soon as another of its kind has written its name beside its own. */
const pairPipeline = programPipeline(`
  const { appendFileSync, readFileSync } = require('node:fs');
  appendFileSync('pair', process.pid + '\\n');
  setInterval(() => readFileSync('pair', 'utf8').split('\\n').length > 2 && process.exit(), 10);
`);

/** Acts on each, with no more under way at once than the machine has cores for, and throws the first fault. */
async function eachOf<T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> {
  const waiting = items.values();
  const worker = async (): Promise<void> => {
    for (const item of waiting) await act(item);
  };
  const ends = await Promise.allSettled(Array.from({ length: availableParallelism() }, worker));
  for (const end of ends) if (end.status === "rejected") throw end.reason;
}
