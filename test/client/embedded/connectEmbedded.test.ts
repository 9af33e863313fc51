import assert from "node:assert/strict";
import { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { connectEmbedded } from "../../../src/client/embedded/connectEmbedded.ts";
import { findEmbedded } from "../../../src/client/embedded/findEmbedded.ts";
import { OutOfReach } from "../../../src/client/service/reachFaults.ts";
import { connectionFile } from "../../../src/machine/connectionFile.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import { itOn } from "../../itOn.ts";
import { LoopbackService, sendError, sendJson } from "../loopbackService.ts";
import { standInFor } from "./standIn.ts";

const never = new AbortController().signal;
const keepsFileModes = process.platform !== "win32";

async function writeConnection(folder: string, connection: unknown): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(connectionFile(folder), JSON.stringify(connection));
}

describe("finding the embedded service", () => {
  it("finds none in a folder that isn't there, or with a file that is broken", async () => {
    await using standIn = await standInFor();
    assert.equal(await findEmbedded(standIn.deps(), never), undefined);
    const good = { url: "http://127.0.0.1:9", pid: 1, token: "t", instance: "i" };
    const broken = [
      "",
      null,
      {},
      { ...good, url: "http://10.0.0.1:9" },
      { ...good, url: "http://127.0.0.1:9/x" },
      { ...good, url: "http://127.0.0.1:99999" },
      { ...good, url: "http://127.0.0.1:0" },
      { ...good, url: "http://127.0.0.1:6000" },
      { ...good, token: "no header\r\ncan carry it" },
      { ...good, token: "" },
    ];
    for (const connection of broken) {
      await writeConnection(standIn.folder, connection);
      assert.equal(await findEmbedded(standIn.deps(), never), undefined);
    }
  });

  it("sends the token to nobody but the instance that wrote the file", async () => {
    const replies: [number, unknown][] = [
      [200, { ok: true, instance: "another" }],
      [200, { ok: true }],
      [200, { ok: false, instance: "mine" }],
      [200, "hello"],
      [404, {}],
      [401, {}],
      [500, {}],
    ];
    for (const [status, body] of replies) {
      await using stranger = await LoopbackService.listen((_, response) => sendJson(response, status, body));
      await using standIn = await standInFor();
      await writeConnection(standIn.folder, {
        url: stranger.origin,
        pid: 1,
        token: "secret",
        instance: "mine",
      });
      assert.equal(await findEmbedded(standIn.deps(), never), undefined);
      assert.deepEqual(
        stranger.asked.map(({ path }) => path),
        ["/healthz"],
      );
      assert.ok(!JSON.stringify(stranger.asked).includes("secret"));
    }
  });

  it("finds the one that answers, and asks it with the token", async () => {
    await using service = await LoopbackService.listen(({ path }, response) =>
      sendJson(response, 200, path === "/healthz" ? { ok: true, instance: "mine" } : { runs: [] }),
    );
    await using standIn = await standInFor();
    await writeConnection(standIn.folder, { url: service.origin, pid: 1, token: "secret", instance: "mine" });
    const found = await findEmbedded(standIn.deps(), never);
    await found?.client.runs({}, never);
    assert.equal(service.asked[0]?.headers["x-api-key"], undefined);
    assert.equal(service.asked[1]?.headers["x-api-key"], "secret");
  });

  it("asks with the key of now once the service was started again at its port, and nobody but that one", async () => {
    let now = { instance: "first", token: "token-1" };
    await using service = await LoopbackService.listen(({ path, headers }, response) => {
      if (path === "/healthz") return sendJson(response, 200, { ok: true, instance: now.instance });
      if (headers["x-api-key"] !== now.token) return sendError(response, 401, "unauthorized");
      return sendJson(response, 200, { runs: [] });
    });
    await using standIn = await standInFor();
    const publish = () => writeConnection(standIn.folder, { url: service.origin, pid: 1, ...now });
    await publish();
    const client = (await findEmbedded(standIn.deps(), never))?.client;
    now = { instance: "second", token: "token-2" };
    await assert.rejects(async () => client?.runs({}, never), OutOfReach);
    await publish();
    assert.deepEqual(await client?.runs({}, never), { runs: [] });
    assert.deepEqual(
      service.asked.map(({ path, headers }) => headers["x-api-key"] ?? path),
      ["/healthz", "token-1", "/healthz", "token-1", "/healthz", "token-2"],
    );
    now = { instance: "third", token: "token-3" };
    await publish();
    const both = await Promise.all([client?.runs({}, never), client?.runs({}, never)]);
    assert.deepEqual(both, [{ runs: [] }, { runs: [] }]);
  });

  it("finds none after 2 s where a stranger listens and says nothing", async () => {
    await using stranger = await LoopbackService.listen(() => undefined);
    await using standIn = await standInFor();
    await writeConnection(standIn.folder, {
      url: stranger.origin,
      pid: 1,
      token: "secret",
      instance: "mine",
    });
    const clock = new FakeClock();
    const found = findEmbedded(standIn.deps({ clock }), never);
    await stranger.until(() => stranger.asked.length === 1);
    clock.advance(2000);
    assert.equal(await found, undefined);
    await stranger.until(() => stranger.left === 1);
    assert.equal(clock.alarms, 0);
  });

  it("finds none where nobody listens any more", async () => {
    const service = await LoopbackService.listen(() => undefined);
    await using standIn = await standInFor();
    await writeConnection(standIn.folder, { url: service.origin, pid: 1, token: "secret", instance: "mine" });
    await service[Symbol.asyncDispose]();
    assert.equal(await findEmbedded(standIn.deps(), never), undefined);
  });
});

describe("connecting to the embedded service", () => {
  it("starts it when it isn't running, in its folder", async () => {
    await using standIn = await standInFor();
    const { connection, client } = await connectEmbedded(standIn.deps(), never);
    assert.deepEqual(await client.runs({}, never), { runs: [] });
    assert.deepEqual(standIn.pids, [connection.pid]);
    const given = await standIn.given();
    assert.deepEqual(given.args, ["--idle-exit"]);
    assert.equal(given.cwd, standIn.folder);
    assert.equal(await readFile(join(standIn.folder, "service.log"), "utf8"), "serving\n");
    if (keepsFileModes) {
      assert.equal((await stat(join(standIn.folder, "service.log"))).mode & 0o777, 0o600);
      assert.equal((await stat(standIn.folder)).mode & 0o777, 0o700);
    }
  });

  it("gives it nothing of the starter's environment that a run could be told by", async () => {
    await using standIn = await standInFor();
    const env = {
      ...standIn.deps().env,
      SHOP_TOKEN: "for the steps",
      TMPDIR: "/of/a/shell/that/goes",
      GIT_DIR: "/of/a/hook",
      LC_ALL: "C.UTF-8",
      NODE_OPTIONS: "--inspect-publish-uid=http",
      VSCODE_PID: "1",
      ELECTRON_NO_ASAR: "1",
      PIPELINE_API_KEY: "another service's",
      PIPELINE_BASE_URL: "https://pipelines.example.com",
      PIPELINE_DATA_DIR: "/elsewhere",
      UNSET: undefined,
    };
    await connectEmbedded(standIn.deps({ env }), never);
    const given = (await standIn.given()).env;
    assert.equal(given["LC_ALL"], "C.UTF-8");
    assert.equal(given["PATH"], standIn.deps().env["PATH"]);
    assert.equal(given["ELECTRON_RUN_AS_NODE"], "1");
    assert.equal(given["PIPELINE_DATA_DIR"], standIn.folder);
    for (const name of Object.keys(env).filter((name) =>
      /VSCODE|NO_ASAR|API_KEY|BASE_URL|NODE_OPTIONS|UNSET|TOKEN|TMPDIR|GIT_DIR/.test(name),
    )) {
      assert.equal(given[name], undefined, name);
    }
  });

  it("uses the one that is running", async () => {
    await using standIn = await standInFor();
    const first = await connectEmbedded(standIn.deps(), never);
    const second = await connectEmbedded(standIn.deps(), never);
    assert.deepEqual(second.connection, first.connection);
    assert.equal(standIn.pids.length, 1);
  });

  it("comes to one service, however many start it at the same time", async () => {
    await using standIn = await standInFor();
    const starters = Array.from({ length: 5 }, () => connectEmbedded(standIn.deps(), never));
    const instances = (await Promise.all(starters)).map(({ connection }) => connection.instance);
    assert.equal(new Set(instances).size, 1);
  });

  it("takes the place of one that crashed and left its file", async () => {
    await using standIn = await standInFor();
    await using stranger = await LoopbackService.listen((_, response) =>
      sendJson(response, 200, { ok: true }),
    );
    await writeConnection(standIn.folder, {
      url: stranger.origin,
      pid: 1,
      token: "secret",
      instance: "mine",
    });
    const { connection } = await connectEmbedded(standIn.deps(), never);
    assert.notEqual(connection.instance, "mine");
    assert.ok(
      stranger.asked.every(({ path, headers }) => path === "/healthz" && headers["x-api-key"] === undefined),
    );
  });

  it("starts another when the one that held the lock was just ending", async () => {
    await using standIn = await standInFor();
    const program = await readFile(standIn.servicePath, "utf8");
    const yieldsFirst = `
import { existsSync, writeFileSync as note } from "node:fs";
if (!existsSync("yielded")) { note("yielded", ""); process.exit(0); }
${program}`;
    await writeFile(standIn.servicePath, yieldsFirst);
    const { connection } = await connectEmbedded(standIn.deps(), never);
    assert.equal(standIn.pids.length, 2);
    assert.equal(standIn.pids[1], connection.pid);
  });

  it("says the last words of a service that ends before it answers", async () => {
    await using standIn = await standInFor(`
console.error("starting"); console.error("the disk is full"); process.exit(1);`);
    await assert.rejects(connectEmbedded(standIn.deps(), never), {
      type: "internal",
      message: "The embedded service ended with exit code 1 before it answered: starting / the disk is full.",
      next: `Its log is ${join(standIn.folder, "service.log")}.`,
    });
  });

  it("says an uncaught error without its stack", async () => {
    await using standIn = await standInFor("throw new RangeError('no such day');");
    await assert.rejects(connectEmbedded(standIn.deps(), never), {
      message: "The embedded service ended with exit code 1 before it answered: RangeError: no such day.",
    });
  });

  it("says none of the words of the service before", async () => {
    await using standIn = await standInFor("process.exit(3);");
    await mkdir(standIn.folder, { recursive: true });
    await writeFile(join(standIn.folder, "service.log"), "yesterday's trouble\n");
    await assert.rejects(connectEmbedded(standIn.deps(), never), {
      message: "The embedded service ended with exit code 3 before it answered.",
    });
  });

  it("begins the log anew once it has passed 1 MiB", async () => {
    await using standIn = await standInFor();
    await mkdir(standIn.folder, { recursive: true });
    await writeFile(join(standIn.folder, "service.log"), "x".repeat(1024 * 1024 + 1));
    await connectEmbedded(standIn.deps(), never);
    assert.equal(await readFile(join(standIn.folder, "service.log"), "utf8"), "serving\n");
  });

  it("says when there is no program to run it", async () => {
    await using standIn = await standInFor();
    const execPath = join(standIn.folder, "no-node");
    await assert.rejects(connectEmbedded(standIn.deps({ execPath }), never), {
      message: `The embedded service can't be run by ${execPath}.`,
    });
  });

  for (const [code, why, next] of [
    [
      "EAGAIN",
      "this user may start no more processes",
      process.platform === "win32" ? /limit\.$/ : /ulimit -u/,
    ],
    [
      "EMFILE",
      "too many files are open in one program",
      process.platform === "win32" ? /limit\.$/ : /ulimit -n/,
    ],
  ] as const) {
    it(`says what the machine lacks where it can't be run (${code})`, async () => {
      await using standIn = await standInFor();
      const spawn = (() => {
        const child = new ChildProcess();
        setImmediate(() => child.emit("error", Object.assign(new Error(`spawn ${code}`), { code })));
        return child;
      }) as typeof import("node:child_process").spawn;
      await assert.rejects(connectEmbedded(standIn.deps({ spawn }), never), {
        message: `The embedded service can't be run by ${process.execPath}: ${why}.`,
        next,
      });
    });
  }

  itOn("linux", "says that the disk is full where the service had nowhere to say it", async () => {
    await using standIn = await standInFor("process.exit(1);");
    await mkdir(standIn.folder, { recursive: true });
    await symlink("/dev/full", join(standIn.folder, "service.log"));
    await assert.rejects(connectEmbedded(standIn.deps(), never), {
      message: `The embedded service can't write to ${standIn.folder}: the disk is full, or takes no more files.`,
      next: /df -i/,
    });
  });

  it("says when its folder can't be made", async () => {
    await using standIn = await standInFor();
    const folder = join(standIn.servicePath, "below a file");
    await assert.rejects(connectEmbedded(standIn.deps({ folder }), never), {
      message: /^The embedded service's folder .*below a file can't be made: /,
      next: "Name another folder with PIPELINE_DATA_DIR.",
    });
  });

  it("gives up on a service that answers nothing for 20 s", async () => {
    await using standIn = await standInFor("setTimeout(() => {}, 40_000);");
    const clock = new FakeClock();
    const failed = assert.rejects(connectEmbedded(standIn.deps({ clock }), never), {
      type: "out-of-reach",
      message: "The embedded service did not answer within 20 s.",
    });
    while (clock.monotonic() < 20_000) {
      await turn();
      if (clock.alarms > 0) clock.advanceToNext();
    }
    await failed;
    assert.equal(clock.monotonic(), 20_000);
    assert.equal(clock.alarms, 0);
  });

  it("names the process that holds the folder and never answers", async () => {
    await using hanging = await LoopbackService.listen(() => undefined);
    await using standIn = await standInFor("process.exit(0);");
    await writeConnection(standIn.folder, { url: hanging.origin, pid: 4711, token: "secret", instance: "i" });
    const clock = new FakeClock();
    const exits: Promise<unknown>[] = [];
    const spawn = ((path: string, args: string[], options: object) => {
      const child = standIn.spawn(path, args, options);
      exits.push(once(child, "exit"));
      return child;
    }) as typeof standIn.spawn;
    const failed = assert.rejects(connectEmbedded(standIn.deps({ clock, spawn }), never), {
      type: "out-of-reach",
      message:
        "The embedded service (process 4711) has not answered for 20 s, though it still holds its folder.",
      next: `End that process and try again. If it runs in another container or on another machine, which shares the folder, name a folder of this one's own with PIPELINE_DATA_DIR. Its log is ${join(standIn.folder, "service.log")}.`,
    });
    let isOver = false;
    void failed.finally(() => {
      isOver = true;
    });
    while (!isOver) {
      // The clock stands still while a service that was started is yet to yield.
      await Promise.all(exits);
      await turn();
      if (clock.alarms > 0) clock.advanceToNext();
    }
    await failed;
    assert.ok(hanging.asked.every(({ path }) => path === "/healthz"));
  });

  it("stops with the signal", async () => {
    await using standIn = await standInFor("setTimeout(() => {}, 40_000);");
    const clock = new FakeClock();
    const stop = new AbortController();
    const connected = connectEmbedded(standIn.deps({ clock }), stop.signal);
    while (clock.alarms === 0) await turn();
    stop.abort(new Error("enough"));
    await assert.rejects(connected, /enough/);
    assert.equal(clock.alarms, 0);
  });
});
