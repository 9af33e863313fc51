import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { LoopbackService, orgOnWire, sendJson } from "../../client/loopbackService.ts";
import { itOn } from "../../itOn.ts";
import { KeySearch } from "../../security/keySearch.ts";
import { World } from "../../security/world.ts";
import { until } from "../../until.ts";

/** A key as a cloud might make them; nothing of it is found by chance. */
const key = `plk_live_${randomBytes(32).toString("base64url")}`;
const search = new KeySearch({ "the cloud's key": key });
const hello = "resources:\n  shell: { type: cli }\nsteps:\n  - use: shell\n    run: 'true'\n";

/** A service that sends the key back wherever it can, to whoever shows what a service says. */
const echoing = (status: number) =>
  LoopbackService.listen((asked, response) => {
    const told = `${asked.headers["x-api-key"]}`;
    response.setHeader("x-echo", told);
    if (status >= 300 && status < 400) {
      response.writeHead(status, { location: `https://other.invalid/${told}?key=${told}` }).end(told);
      return;
    }
    const body = { error: { type: `not-${told}`, message: `bad key ${told}`, scope: told, next: told } };
    sendJson(response, status, status < 400 ? { ...orgOnWire, "org-name": told, "run-id": told } : body);
  });

/** What a person and a script ask of the tool. */
const commands: readonly (readonly string[])[] = [
  ["org"],
  ["org", "--json"],
  ["runs", "list"],
  ["runs", "show", "run_1", "--json"],
  ["runs", "log", "run_1"],
  ["runs", "cancel", "run_1"],
  ["runs", "cancel", "--mine", "--json"],
  ["pipelines"],
  ["run", "hello"],
  ["run", "hello", "--json"],
  ["page"],
  ["logins", "--json"],
];

describe("a cloud's key, given to the tool", function () {
  this.timeout(240_000);
  let world: World;
  beforeEach(async () => {
    world = await World.make();
    await world.pipeline("hello", hello);
  });
  afterEach(() => world?.[Symbol.asyncDispose]());

  /** Nothing of the key anywhere, but in the login's file where it is meant to be. */
  const assertNowhere = async (isKnown?: (file: string) => boolean) => {
    const { finds, files } = await search.inFolder(world.path, isKnown);
    for (const line of world.commandLines) finds.push(...search.inText(line, "the list of processes"));
    assert.deepEqual(finds, []);
    assert.ok(files.length > 0);
  };

  it("in its environment, is in nothing that it says or writes, whatever a service answers", async () => {
    // Most of the time they wait before they ask once more: all do so side by side.
    const answered = async (status: number) => {
      await using service = await echoing(status);
      const env = { PIPELINE_BASE_URL: service.origin, PIPELINE_API_KEY: key };
      for (const args of status === 401 ? commands : commands.filter((_, at) => at % 3 === 0)) {
        await world.run(args, env);
      }
      assert.ok(service.asked.some(({ headers }) => headers["x-api-key"] === key));
    };
    await Promise.all([200, 302, 401, 404, 429, 500].map(answered));
    await assertNowhere();
  });

  it("is in nothing that is said of a service which isn't one, isn't there or breaks off", async () => {
    await using cutting = await LoopbackService.listen((asked, response) => {
      response.writeHead(200, { "content-length": "5000" });
      response.write(`{"echo":"${asked.headers["x-api-key"]}"`, () => response.destroy());
    });
    const bases = [
      cutting.origin,
      `https://127.0.0.1:${cutting.port}`,
      "http://127.0.0.1:9",
      "https://no.invalid",
    ];
    const asked = async (base: string) => {
      for (const args of [["org"], ["org", "--json"]]) {
        await world.run(args, { PIPELINE_BASE_URL: base, PIPELINE_API_KEY: key });
      }
    };
    await Promise.all([...bases, `https://user:${key}@no.invalid`, `ftp://${key}.invalid`, key].map(asked));
    await world.run(["org"], { PIPELINE_API_KEY: key });
    await world.run(["org"], { PIPELINE_BASE_URL: cutting.origin, PIPELINE_API_KEY: `${key}\n` });
    await assertNowhere();
  });

  it("logged in with, is in the login's file alone, which only its user may read", async () => {
    await using service = await LoopbackService.listen((_, response) => sendJson(response, 200, orgOnWire));
    const login = ["login", service.origin];
    assert.equal((await world.run(login, {}, `${key}\n`)).exitCode, 0);
    for (const args of [["org", "--json"], ["logins"], ["logins", "--json"]]) await world.run(args);
    const isLogin = (file: string) => /^config\/logins\/http.*\.json$/.test(file);
    const { finds } = await search.inFolder(world.path);
    assert.deepEqual(
      finds.map(({ place }) => isLogin(place)),
      [true],
      "the search finds it where it has to be",
    );
    await assertNowhere(isLogin);
    assert.equal((await world.run(["logout"])).exitCode, 0);
    await assertNowhere();
  });

  itOn(
    "posix",
    "is in no report of a crash, of an uncaught error and of a signal, that Node.js was told to write",
    async () => {
      await using silent = await LoopbackService.listen(() => {});
      const crash = join(world.path, "crash.mjs");
      // Whenever that may be on a busy machine.
      await writeFile(crash, "process.once('SIGPIPE', () => { throw new Error('planted') });");
      const reports = join(world.path, "reports");
      const env = {
        PIPELINE_BASE_URL: silent.origin,
        PIPELINE_API_KEY: key,
        NODE_OPTIONS: `--report-uncaught-exception --report-on-signal --report-dir=${reports} --import=${crash}`,
      };
      const child = world.spawn(["org"], env);
      await until(async () => silent.asked.length > 0);
      child.kill("SIGUSR2");
      await until(async () => (await readdir(reports)).length > 0);
      child.kill("SIGPIPE");
      const { stderr, exitCode } = await child;
      await world.tell("crash", String(stderr));
      assert.notEqual(exitCode, 0);
      const files = await readdir(reports);
      assert.equal(files.length, 2, "one of the signal and one of the error");
      for (const file of files) {
        assert.match(await readFile(join(reports, file), "utf8"), /"javascriptStack"|"nodejsVersion"/);
      }
      await assertNowhere();
    },
  );

  itOn("posix", "is nowhere after the tool was killed while it waits", async () => {
    await using silent = await LoopbackService.listen(() => {});
    for (const signal of ["SIGKILL", "SIGTERM", "SIGQUIT"] as const) {
      const asked = silent.asked.length;
      const child = world.spawn(["run", "hello"], {
        PIPELINE_BASE_URL: silent.origin,
        PIPELINE_API_KEY: key,
      });
      while (silent.asked.length === asked) await world.look();
      child.kill(signal);
      const { stdout, stderr } = await child;
      await world.tell(signal, `${stdout}${stderr}`);
    }
    await assertNowhere();
  });
});
