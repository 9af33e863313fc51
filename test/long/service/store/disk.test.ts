import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { chmod, chown, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { sql } from "kysely";
import { PipelineError } from "../../../../src/contract/errors.ts";
import { findCaller } from "../../../../src/service/store/keys.ts";
import { databaseFile, openDatabase } from "../../../../src/service/store/openDatabase.ts";
import { servedProcess } from "../../../service/servedProcess.ts";
import { type AskedStart, hasStarted, quiet, startedCore } from "../../../service/startedCore.ts";
import { programPath } from "../../../service/startedProgram.ts";
import { ended, programPipeline } from "../../../service/startedService.ts";
import { TemporaryFolder } from "../../../temporaryFolder.ts";

const never = new AbortController().signal;
const noon = "2026-03-04T12:00:00Z";
/** Too long for what is free in the pages that there are. */
const project = "x".repeat(6_000);
const isFull = /^The disk is full: .*runs\.db can't take more\. Nothing was written\.$/;

function assertFailed(request: AskedStart, message: RegExp): void {
  assert(request.left instanceof PipelineError, String(request.left));
  assert.equal(request.left.type, "internal");
  assert.match(request.left.message, message);
  assert.notEqual(request.left.next, "");
}

describe("a disk that is full", () => {
  it("fails a start with one clear error, which leaves no run, no count and no slot taken", async () => {
    await using core = await startedCore(noon);
    const key = await core.key();
    await core.limitDisk(true);
    const failed = core.ask(key, 120, { project });
    const next = core.ask(key, 120, { project });
    await quiet();
    for (const request of [failed, next]) assertFailed(request, isFull);
    assert.deepEqual(await core.rows(), []);
    assert.equal(await core.used(key), 0);
    assert.deepEqual([core.core.admission.waiting, core.core.runs.count], [0, 0]);
    await core.limitDisk(false);
    const later = core.ask(key, 0, { project });
    await quiet();
    assert(hasStarted(later));
    assert.equal(await core.used(key), 1);
  });

  it("keeps a run's slot until its end could be written, and then hands it on", async () => {
    await using core = await startedCore(noon);
    const key = await core.key();
    const holder = core.ask(key, 0);
    const waiter = core.ask(key, 120);
    await quiet();
    assert(holder.outcome?.kind === "started");
    await core.limitDisk(true);
    core.jobs.get(holder.outcome.run.runId)?.end({ kind: "failed", message: project });
    await quiet();
    core.clock.advance(5_000);
    await quiet();
    assert(!hasStarted(waiter));
    assert.equal((await core.rows())[0]?.stopped_at, null);
    await core.limitDisk(false);
    core.clock.advance(10_000);
    await quiet();
    assert.equal((await core.rows())[0]?.status, "failed");
    assert(hasStarted(waiter));
  });
});

describe("a database that can't be written any more", () => {
  it("ends nobody's wait for a slot: who waits gets it once the end before could be written", async () => {
    await using core = await startedCore(noon);
    const key = await core.key();
    const holder = core.ask(key, 0);
    const waiter = core.ask(key, 120);
    await quiet();
    assert(holder.outcome?.kind === "started");
    await sql`pragma busy_timeout = 10`.execute(core.core.db);
    await sql`begin immediate`.execute(core.db);
    core.jobs.get(holder.outcome.run.runId)?.end();
    await quiet();
    assert.deepEqual([waiter.outcome, waiter.left], [undefined, undefined]);
    await sql`rollback`.execute(core.db);
    core.clock.advance(10_000);
    await quiet();
    assert(hasStarted(waiter));
    assert.deepEqual(
      (await core.rows()).map(({ status }) => status),
      ["succeeded", "running"],
    );
  });

  it("ends no wait either because another comes, or has waited for long enough, who hears of the fault", async () => {
    await using core = await startedCore(noon);
    const key = await core.key();
    const holder = core.ask(key, 0);
    const waiter = core.ask(key, 120);
    const hasty = core.ask(key, 1);
    await quiet();
    assert(holder.outcome?.kind === "started");
    await sql`begin immediate`.execute(core.db);
    core.jobs.get(holder.outcome.run.runId)?.end();
    const newcomer = core.ask(key, 120);
    for (let time = 0; time < 400; time++) {
      core.clock.advance(50);
      await quiet();
    }
    const { outcome, left } = waiter;
    await sql`rollback`.execute(core.db);
    core.clock.advance(10_000);
    await quiet();
    assertFailed(newcomer, /^Another program holds the database /);
    assertFailed(hasty, /^Another program holds the database /);
    assert.deepEqual([outcome, left], [undefined, undefined]);
    assert(hasStarted(waiter));
    assert.deepEqual(
      (await core.rows()).map(({ status }) => status),
      ["succeeded", "running"],
    );
  });

  it("fails what would write, and answers what reads", async () => {
    await using core = await startedCore(noon);
    const key = await core.key();
    await sql`pragma query_only = on`.execute(core.core.db);
    const failed = core.ask(key, 0);
    await quiet();
    assertFailed(failed, /^The database .*runs\.db can't be written: /);
    assert.equal(await core.used(key), 0);
    await sql`pragma query_only = off`.execute(core.core.db);
    const later = core.ask(key, 0);
    await quiet();
    assert(hasStarted(later));
  });

  it("is told when another program holds it and doesn't let go for 5 s", async () => {
    await using core = await startedCore(noon);
    const key = await core.key();
    await sql`begin immediate`.execute(core.db);
    const failed = core.ask(key, 0);
    await quiet();
    for (let time = 0; time < 110 && failed.left === undefined; time++) {
      core.clock.advance(50);
      await quiet();
    }
    assertFailed(failed, /^Another program holds the database /);
    assert(core.clock.now() - Date.parse(noon) >= 5_000);
    await sql`rollback`.execute(core.db);
    const later = core.ask(key, 0);
    await quiet();
    assert(hasStarted(later));
  });

  it("keeps nobody else from being answered while another program writes, and is written when that has ended", async () => {
    await using core = await startedCore(noon);
    const key = await core.key();
    await sql`begin immediate`.execute(core.db);
    const first = core.ask(key, 120);
    const second = core.ask(key, 120);
    await quiet();
    for (let time = 0; time < 20; time++) {
      core.clock.advance(50);
      await quiet();
      assert.equal((await findCaller(core.core.db, key.secret))?.keyId, key.keyId);
      assert.deepEqual(await core.core.db.selectFrom("runs").selectAll().execute(), []);
    }
    assert.deepEqual([first.outcome, first.left], [undefined, undefined]);
    await sql`rollback`.execute(core.db);
    core.clock.advance(50);
    await quiet();
    assert(hasStarted(first));
    assert.equal(second.outcome, undefined);
    assert.equal((await core.rows()).length, 1);
  });
});

/** A service process whose data folder its tests may make trouble for. */
async function troubled(options: Parameters<typeof servedProcess>[0] = {}) {
  const served = await servedProcess(options);
  await served.write("quick", programPipeline("console.log('quick')"));
  const member = await served.member("acme", { parallelRuns: 1, runsPerDay: 50 });
  let requests = 0;
  return Object.assign(served, {
    start1: () =>
      member
        .client()
        .start({ pipeline: "quick" }, { waitSeconds: 120, idempotencyKey: `request-${requests++}` }, never),
    used: async () => (await member.client().org(never)).usage.runsToday,
    async inWork() {
      return (await member.client().runs({ active: true }, never)).runs.length;
    },
    /** The next start works, and its run comes to its end. */
    async works() {
      const attempt = await this.start1();
      assert(attempt.kind === "started");
      assert.equal((await ended(member.client(), attempt.run)).status, "succeeded");
    },
  });
}

// A process may be kept from making files larger: a write beyond that fails as on a disk that is broken.
if (process.platform === "linux" && spawnSync("prlimit", ["--version"]).status === 0) {
  describe("a disk that fails", () => {
    it("fails what would write, with one clear error; all is well again once the disk is", async () => {
      await using served = await troubled();
      await served.works();
      const limit = (bytes: number | "unlimited") =>
        execFileSync("prlimit", ["--pid", String(served.pid), `--fsize=${bytes}:unlimited`]);
      const { size } = await stat(`${databaseFile(served.data)}-wal`);
      limit(size);
      for (let time = 0; time < 3; time++) {
        await assert.rejects(served.start1(), {
          type: "internal",
          message: /^The disk failed at the database /,
        });
      }
      assert.equal(await served.used(), 1);
      assert.equal(await served.inWork(), 0);
      limit("unlimited");
      await served.works();
      assert.equal(await served.used(), 2);
      assert(served.isRunning);
    });
  });
}

/** Whether this user may mount a file system of its own. */
function mayMount(): boolean {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return false;
  const folder = execFileSync("mktemp", ["-d"], { encoding: "utf8" }).trim();
  const isMounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", folder]).status === 0;
  if (isMounted) execFileSync("umount", [folder]);
  execFileSync("rmdir", [folder]);
  return isMounted;
}

if (mayMount()) {
  describe("a file system that is full", () => {
    async function smallDisk() {
      const folder = await TemporaryFolder.make();
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", folder.path]);
      const filler = join(folder.path, "filler");
      return {
        path: folder.path,
        /** Takes all the space that is left. */
        fill: () => void spawnSync("dd", ["if=/dev/zero", `of=${filler}`, "bs=1k"]),
        clear: () => rm(filler),
        async [Symbol.asyncDispose]() {
          execFileSync("umount", [folder.path]);
          await folder[Symbol.asyncDispose]();
        },
      };
    }

    it("fails starts with one clear error while it is full, and none after", async () => {
      await using disk = await smallDisk();
      await using served = await troubled({ data: disk.path });
      await served.works();
      disk.fill();
      // What is free in the log of changes still takes a write or two.
      for (let time = 0; time < 100; time++) {
        const attempt = await served.start1().catch((error: unknown) => error);
        if (!(attempt instanceof PipelineError)) continue;
        assert.equal(attempt.type, "internal");
        assert.match(attempt.message, isFull);
        break;
      }
      const used = await served.used();
      await assert.rejects(served.start1(), { message: isFull });
      assert.equal(await served.used(), used);
      await disk.clear();
      await served.works();
      assert.equal(await served.used(), used + 1);
      assert(served.isRunning);
    });

    it("is told at the start, of a new folder and of one that was served before", async () => {
      await using disk = await smallDisk();
      disk.fill();
      const start = () => servedProcess({ data: disk.path });
      await assert.rejects(start(), /The disk is full: .*Free some space/s);
      await disk.clear();
      await (await start())[Symbol.asyncDispose]();
      disk.fill();
      await assert.rejects(start(), /The disk is full: .*Free some space/s);
      await disk.clear();
      await (await start())[Symbol.asyncDispose]();
    });
  });
}

if (process.platform !== "win32") {
  describe("a data folder of someone else's", () => {
    /** To the one who may do everything no folder is closed. */
    const asNobody = process.getuid?.() === 0 ? ["65534"] : [];
    /** What a service that starts as a user who may not write there says before it ends. */
    const serveAsNobody = async (folder: string) => {
      const { exitCode, stderr } = await execa(
        process.execPath,
        [programPath, "serve", folder, ...asNobody],
        {
          reject: false,
          stdin: "ignore",
        },
      );
      return { exitCode, stderr };
    };

    it("is told when nothing may be written into it", async () => {
      await using folder = await TemporaryFolder.make();
      await chmod(folder.path, 0o555);
      const { exitCode, stderr } = await serveAsNobody(folder.path);
      assert.equal(exitCode, 1, stderr);
      assert.match(stderr, /can't be used: EACCES.*Check that the folder can be written/s);
      await chmod(folder.path, 0o755);
    });

    it("costs no run its success when it is closed to the service that serves it, and is told at the next start", async () => {
      const user = process.getuid?.() === 0 ? 65_534 : undefined;
      await using served = await troubled({ user });
      await served.works();
      const folders = [served.data, join(served.data, "runs")];
      for (const folder of folders) await chmod(folder, 0o555);
      await served.works();
      assert.deepEqual([await served.used(), await served.inWork()], [2, 0]);
      await served.kill();
      assert.match(served.log, /log not written/);
      await assert.rejects(served.start(), /can't be used: EACCES.*Check that it can be written/s);
      for (const folder of folders) await chmod(folder, 0o700);
      await served.start();
      await served.works();
      assert.equal(await served.used(), 3);
    });

    it("is told when the database in it may be read only", async () => {
      await using folder = await TemporaryFolder.make();
      await (await openDatabase(folder.path)).destroy();
      if (process.getuid?.() === 0) await chown(folder.path, 65534, 65534);
      await chmod(databaseFile(folder.path), 0o444);
      const before = await stat(databaseFile(folder.path));
      const { exitCode, stderr } = await serveAsNobody(folder.path);
      assert.equal(exitCode, 1, stderr);
      assert.match(stderr, /The database .*runs\.db can't be written: .*belong to this user/s);
      assert.equal((await stat(databaseFile(folder.path))).mtimeMs, before.mtimeMs);
    });
  });
}
