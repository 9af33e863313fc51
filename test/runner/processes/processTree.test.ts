import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { RunningJob } from "../../../src/runner/launch/launch.ts";
import { endLeftovers } from "../../../src/runner/processes/endProcesses.ts";
import { LinuxProcesses } from "../../../src/runner/processes/linuxProcesses.ts";
import { PosixProcesses } from "../../../src/runner/processes/posixProcesses.ts";
import { RunCgroups, type RunnerIdentity } from "../../../src/runner/processes/runCgroups.ts";
import { processTable } from "../../../src/runner/processes/systemProcesses.ts";
import { isAlive } from "../../isAlive.ts";
import { itOn } from "../../itOn.ts";
import { runnerPath } from "../../service/programs.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";
import { type Beacon, holdBeacon, makeBeacon, quoted } from "../beacon.ts";
import { type LaunchChanges, launchTestRun, newRunId, shellPipeline } from "../launch/launchTestRun.ts";

/** Ignores whatever can be ignored; for the beginning of a script. */
const deaf = "trap '' TERM INT HUP";

type Means = "linux" | "posix" | "cgroup";

/** Perl: begins a group, leaves a child in it and ends. */
const inGroupOfDead = `
  setpgrp(0, 0);
  if (!fork) { $SIG{TERM} = "IGNORE"; open(B, ">&=9"); syswrite(B, "$$\\n"); sleep 1000 }`;

/** Perl: nineteen processes say their ids; each has a child, and another whenever that ends. */
const multiplying = `
  $SIG{$_} = "IGNORE" for qw(TERM INT HUP);
  open(B, ">&=9");
  for (2..19) { if (!fork) { syswrite(B, "$$\\n"); last } }
  while (1) {
    my $child = fork;
    if (!$child) { select(undef, undef, undef, 0.05); exit }
    waitpid($child, 0);
  }`;

const plainRunner = fileURLToPath(new URL("plainRunner.ts", import.meta.url));

/** A daemon by the book: forked twice, in a session of its own, its environment cleared, deaf, as a step's last line. */
const daemon = (beacon: Beacon, then = ":"): string =>
  `env -i setsid sh -c ${quoted(`${deaf}; ${holdBeacon(beacon)}; ${then}; sleep 1000`)} < /dev/null > /dev/null 2>&1 &`;

/** By what a run's processes are found and ended: the system's best, and what is left where that isn't to be had. */
const means: readonly { readonly name: string; readonly on: Means; readonly deps: LaunchChanges }[] = [
  { name: "with a cgroup", on: "cgroup", deps: { processes: processTable("linux") } },
  {
    name: "without a cgroup",
    on: "linux",
    deps: { processes: new LinuxProcesses("/proc"), runnerPath: plainRunner },
  },
  {
    name: "by ps, as on macOS",
    on: "posix",
    deps: {
      processes: new PosixProcesses({ showsEnvironment: false }),
      runnerPath: plainRunner,
      env: { ...process.env, FINDS_BY: "ps" },
    },
  },
];

for (const { name, on, deps } of means) {
  describe(`the end of a run's processes, ${name}`, () => {
    const folder = temporaryFolder();

    /** Runs the script as a step, stops the run once `count` processes have said their ids, and sees them gone. */
    async function stopped(count: number, script: (hold: string) => string): Promise<void> {
      const beacon = makeBeacon(folder.path);
      const pipeline = shellPipeline(script(holdBeacon(beacon)));
      const { job } = launchTestRun(folder.path, pipeline, { ...deps, graceMilliseconds: 50 });
      const pids = await beacon.pids(count);
      job.stop();
      assert.deepEqual(await job.ended, { kind: "stopped" });
      await assertGone(beacon, [...pids, job.pid ?? 0]);
    }

    async function assertGone(beacon: Beacon, pids: readonly number[]): Promise<void> {
      assert.deepEqual(pids.filter(isAlive), []);
      await beacon.dark;
    }

    itOn(on, "takes a program that ignores every signal that it can, and the grandchild it forked", () =>
      stopped(2, (hold) => `${deaf}\nsh -c ${quoted(`${hold}; sleep 1000; :`)} &\n${hold}\nsleep 1000\n:`),
    );

    itOn(on, "takes one that is stopped", () =>
      stopped(2, (hold) => `sh -c ${quoted(`${hold}; kill -STOP $$; sleep 1000`)} &\n${hold}\nsleep 1000`),
    );

    itOn(on, "gives one that is stopped the time to end by itself", async () => {
      const beacon = makeBeacon(folder.path);
      const tidy = `trap 'echo tidy > tidy; exit 0' TERM; ${holdBeacon(beacon)}; kill -STOP $$; sleep 1000`;
      const { job } = launchTestRun(folder.path, shellPipeline(`sh -c ${quoted(tidy)}`), {
        ...deps,
        graceMilliseconds: 30_000,
      });
      const [pid = 0] = await beacon.pids(1);
      await untilStopped(pid);
      job.stop();
      assert.deepEqual(await job.ended, { kind: "stopped" });
      await assertGone(beacon, [pid]);
      assert.ok(existsSync(join(folder.path, "tidy")));
    });

    itOn(on, "takes a parent that never reaps its dead", () =>
      stopped(1, (hold) => `${hold}\ntrue &\nexec sleep 1000`),
    );

    // By ps it is found only if a glance came in time.
    if (on !== "posix") {
      itOn(on, "takes one in the group of another that is dead", () =>
        stopped(2, (hold) => `${hold}\nperl -e ${quoted(inGroupOfDead)} &\nwait $!\nsleep 1000`),
      );
    }

    itOn(on, "takes a score that start others anew as fast as they end", () =>
      stopped(19, (hold) => `${hold}\nexec perl -e ${quoted(multiplying)}`),
    );

    itOn(on, "leaves no process behind when the runner is killed, and the run died", async () => {
      const beacon = makeBeacon(folder.path);
      const second = Promise.withResolvers<void>();
      const script = `sh -c ${quoted(`${deaf}; ${holdBeacon(beacon)}; sleep 1000 & sleep 1000`)} &`;
      // The second step ends with its runner, whose pipe it writes to: `ps` may not have listed it yet when that is killed.
      const untilRunnerEnds = "while echo; do sleep 0.05; done";
      const { job } = launchTestRun(folder.path, shellPipeline(script, untilRunnerEnds), {
        ...deps,
        graceMilliseconds: 50,
        onStep: (_, index) => {
          if (index === 1) second.resolve();
        },
      });
      const pids = await beacon.pids(1);
      // By then the runner has told what its first step began.
      await second.promise;
      process.kill(job.pid ?? 0, "SIGKILL");
      assert.equal((await job.ended).kind, "died");
      await assertGone(beacon, [...pids, job.pid ?? 0]);
    });

    itOn(on, "tells the runner's birth, by which it is known later", async () => {
      const { job } = launchTestRun(folder.path, shellPipeline("sleep 1000"), {
        ...deps,
        graceMilliseconds: 50,
      });
      const identity = await job.identity;
      assert.equal(identity?.pid, job.pid);
      assert.notEqual(identity?.birth ?? "", "");
      job.stop();
      await job.ended;
      assert.equal(await deps.processes?.birthOf(job.pid ?? 0), undefined);
    });
  });
}

describe("a run in a cgroup of its own", () => {
  const folder = temporaryFolder();
  const cgroups = new RunCgroups("/proc");

  itOn(
    "cgroup",
    "ends a daemon that cut every tie as a step's last line, and removes the cgroup",
    async () => {
      const beacon = makeBeacon(folder.path);
      const second = Promise.withResolvers<void>();
      const { job } = launchTestRun(folder.path, shellPipeline(`(${daemon(beacon)})`, "sleep 1000"), {
        graceMilliseconds: 50,
        onStep: (_, index) => {
          if (index === 1) second.resolve();
        },
      });
      const pids = await beacon.pids(1);
      await second.promise;
      const cgroup = await cgroupOf(job);
      for (const pid of [...pids, job.pid ?? 0]) assert.ok(cgroups.members(cgroup).includes(pid));
      job.stop();
      assert.deepEqual(await job.ended, { kind: "stopped" });
      assert.deepEqual(pids.filter(isAlive), []);
      await beacon.dark;
      assert.equal(existsSync(cgroup), false);
    },
  );

  itOn(
    "cgroup",
    "ends it also when the run came to its own end, and when the runner was killed",
    async () => {
      for (const end of ["succeeded", "died"]) {
        const beacon = makeBeacon(folder.path, end);
        // The run comes to its end only once the daemon holds the beacon: its step waits for the daemon's word.
        const steps = [
          `mkfifo ${end}.fifo\n${daemon(beacon, `echo > ${end}.fifo`)}\nread word < ${end}.fifo`,
        ];
        if (end === "died") steps.push("sleep 1000");
        const { job } = launchTestRun(folder.path, shellPipeline(...steps), { graceMilliseconds: 50 });
        const pids = await beacon.pids(1);
        const cgroup = await cgroupOf(job);
        if (end === "died") process.kill(job.pid ?? 0, "SIGKILL");
        assert.equal((await job.ended).kind, end);
        assert.deepEqual(pids.filter(isAlive), []);
        await beacon.dark;
        assert.equal(existsSync(cgroup), false);
      }
    },
  );

  itOn(
    "cgroup",
    "ends what has left it when the run came to its own end, also without its environment",
    async () => {
      for (const program of ["sleep 1000", "env -i sleep 1000"]) {
        const pidFile = join(folder.path, `${program}.pid`);
        const lines = [
          'cgroup=$(find /sys/fs/cgroup -type d -name "pipeline-runs-$PPID-*")',
          `sh -c 'echo $$ > "$0"; echo $$ > "${pidFile}"; exec ${program} > /dev/null 2>&1' "$(dirname "$cgroup")/cgroup.procs" &`,
          `until [ -s "${pidFile}" ]; do :; done`,
        ];
        // The runner looks at its processes meanwhile, and forgets none of them.
        const pipeline = shellPipeline(lines.join("\n"), "sleep 0.5");
        const { job } = launchTestRun(folder.path, pipeline, { graceMilliseconds: 50 });
        assert.deepEqual(await job.ended, { kind: "succeeded" });
        assert.equal(isAlive(Number(readFileSync(pidFile, "utf8"))), false);
      }
    },
  );

  itOn("cgroup", "is emptied and removed with those that its processes made inside it", async () => {
    const beacon = makeBeacon(folder.path);
    const began = Promise.withResolvers<void>();
    const inside = [
      'cgroup=$(find /sys/fs/cgroup -type d -name "pipeline-runs-$PPID-*")',
      'mkdir -p "$cgroup/a/b"',
      'echo $$ > "$cgroup/a/b/cgroup.procs"',
      daemon(beacon),
    ];
    const { job } = launchTestRun(folder.path, shellPipeline(inside.join("\n"), "sleep 1000"), {
      graceMilliseconds: 50,
      onStep: (_, index) => {
        if (index === 1) began.resolve();
      },
    });
    await began.promise;
    const pids = await beacon.pids(1);
    const cgroup = await cgroupOf(job);
    assert.ok(existsSync(join(cgroup, "a/b")));
    job.stop();
    assert.deepEqual(await job.ended, { kind: "stopped" });
    assert.deepEqual(pids.filter(isAlive), []);
    await beacon.dark;
    assert.equal(existsSync(cgroup), false);
  });

  itOn("cgroup", "is gone with its runner, also when the service went before", async () => {
    for (const hasJob of [true, false]) {
      const runner = spawn(process.execPath, [runnerPath], {
        stdio: ["pipe", "pipe", "inherit"],
        detached: true,
      });
      const cgroup = cgroups.folderOf(await identityOf(runner)) ?? "";
      if (hasJob) {
        const job = {
          runId: newRunId(),
          root: folder.path,
          pipeline: shellPipeline("sleep 1000"),
          artifactsFolder: folder.path,
          graceMilliseconds: 50,
        };
        runner.stdin.write(`${JSON.stringify(job)}\n`);
        await once(runner.stdout, "data");
      } else {
        while (!existsSync(cgroup) || cgroups.members(cgroup).length === 0) await pause(10);
      }
      assert.deepEqual(cgroups.members(cgroup).includes(runner.pid ?? 0), true);
      runner.stdin.destroy();
      await once(runner, "exit");
      assert.equal(existsSync(cgroup), false);
    }
  });

  async function cgroupOf(job: RunningJob): Promise<string> {
    const identity = await job.identity;
    return (identity && cgroups.folderOf(identity)) ?? assert.fail("the runner has no cgroup");
  }
});

/** What finds it once nobody is left who knows its group, its parent or that it was ever seen. */
const traces = [
  { by: "its cgroup", on: "cgroup", program: runnerPath, processes: processTable("linux") },
  { by: "its limit on locks", on: "linux", program: plainRunner, processes: new LinuxProcesses("/proc") },
] as const;

describe("a daemon whose service and runner were killed", () => {
  const folder = temporaryFolder();

  for (const { by, on, program, processes } of traces) {
    itOn(on, `is ended at the next service's start, found by ${by}`, async () => {
      const beacon = makeBeacon(folder.path, on);
      const runId = newRunId();
      const runner = spawn(process.execPath, [program], {
        stdio: ["pipe", "ignore", "inherit"],
        detached: true,
      });
      const exited = once(runner, "exit");
      const job = {
        runId,
        root: folder.path,
        pipeline: shellPipeline(daemon(beacon), "sleep 1000"),
        artifactsFolder: folder.path,
        graceMilliseconds: 50,
      };
      runner.stdin.write(`${JSON.stringify(job)}\n`);
      const [pid = 0] = await beacon.pids(1);
      const identity = await identityOf(runner);
      runner.kill("SIGKILL");
      await exited;
      assert.ok(isAlive(pid));
      await endLeftovers({ runId, runner: identity }, { processes, graceMilliseconds: 50 });
      assert.equal(isAlive(pid), false);
      await beacon.dark;
      assert.equal(new RunCgroups("/proc").find(identity), undefined);
    });
  }
});

async function identityOf({ pid = 0 }: ChildProcess): Promise<RunnerIdentity> {
  return { pid, birth: (await processTable("linux").birthOf(pid)) ?? "" };
}

async function untilStopped(pid: number): Promise<void> {
  const state = () => execFileSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" });
  while (!state().startsWith("T")) await pause(10);
}
