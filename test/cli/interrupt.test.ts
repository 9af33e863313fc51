import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { endProcess } from "../endProcessesOf.ts";
import { isAlive } from "../isAlive.ts";
import { itOn } from "../itOn.ts";
import { programPipeline, untilCancelled, writePid, writtenPid } from "../service/startedService.ts";
import { ServiceProxy } from "./serviceProxy.ts";
import { toolbox, written } from "./toolbox.ts";

type Toolbox = Awaited<ReturnType<typeof toolbox>>;

/** What is left on the service: the runs, newest first, and how many of the day's it has cost. */
async function left(tool: Toolbox) {
  const { runs } = JSON.parse((await tool.run(["runs", "list", "--json"])).stdout) as {
    runs: { pipeline: string; status: string }[];
  };
  const org = JSON.parse((await tool.run(["org", "--json"])).stdout);
  return {
    runs: runs.map(({ pipeline, status }) => `${pipeline} ${status}`),
    used: Number(org.usage["runs-today"]),
  };
}

/** A pipeline that runs until it is cancelled, and one that another tool has started and that holds the place. */
async function placeTaken(tool: Toolbox): Promise<void> {
  await tool.write("long", programPipeline(untilCancelled));
  await tool.write("hello", programPipeline(""));
  await tool.run(["run", "long", "--detach"]);
}

describe("Ctrl-C", () => {
  itOn("posix", "while the service is looked for: nothing was started", async () => {
    await using tool = await toolbox();
    await tool.write("hello", programPipeline(""));
    const asked = Promise.withResolvers<void>();
    const silent = createServer(() => asked.resolve());
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const connection = { url, pid: process.pid, token: "plk_machine", instance: "another" };
    await writeFile(join(tool.data, "service.json"), JSON.stringify(connection));
    const finding = tool.spawn(["run", "hello"]);
    await asked.promise;
    finding.kill("SIGINT");
    const { exitCode, stdout, stderr } = await finding;
    await writeFile(join(tool.data, "service.json"), "");
    silent.closeAllConnections();
    silent.close();
    assert.deepEqual([exitCode, stdout, stderr], [130, "", "pipeline: interrupted"]);
  });

  itOn(
    "posix",
    "while the start is being answered: the run that came of it is cancelled, and its place given up",
    async () => {
      await using tool = await toolbox();
      await tool.write("long", programPipeline(untilCancelled));
      await tool.run(["org"]);
      const isGranted = Promise.withResolvers<void>();
      const isInterrupted = Promise.withResolvers<void>();
      await using proxy = await ServiceProxy.before(tool.data, {
        beforeReply: ({ line }) => {
          if (line !== "POST /api/runs") return undefined;
          isGranted.resolve();
          return isInterrupted.promise;
        },
      });
      const starting = tool.spawn(["run", "long"], proxy.env);
      await isGranted.promise;
      starting.kill("SIGINT");
      await written(tool.spawn(["org"]).stdout, /runs used today/);
      isInterrupted.resolve();
      const { exitCode, stdout, stderr } = await starting;
      assert.equal(exitCode, 130);
      assert.match(stdout, /^run_\w+ long cancelled$/);
      assert.match(stderr, /^pipeline: interrupted: long cancelled \(run_\w+\)\.$/m);
      assert.deepEqual(await left(tool), { runs: ["long cancelled"], used: 1 });
    },
  );

  itOn("posix", "while waiting: the turn is given up, and no run was used", async () => {
    await using tool = await toolbox();
    await placeTaken(tool);
    const waiting = tool.spawn(["run", "hello"]);
    await written(waiting.stderr, /waiting up to 120 s/);
    waiting.kill("SIGINT");
    const { exitCode, stdout, stderr } = await waiting;
    assert.equal(exitCode, 130);
    assert.equal(stdout, "");
    assert.match(stderr, /^pipeline: interrupted: hello gave up its turn, and no run was started\.$/m);
    await tool.run(["runs", "cancel", "--mine", "--wait"]);
    assert.deepEqual(await left(tool), { runs: ["long cancelled"], used: 1 });
  });

  itOn(
    "posix",
    "while waiting, when the grant is on its way: that run is found, cancelled and waited for",
    async () => {
      await using tool = await toolbox();
      await placeTaken(tool);
      const isGranted = Promise.withResolvers<void>();
      await using proxy = await ServiceProxy.before(tool.data, {
        beforeReply: ({ headers }, status) => {
          if (headers["prefer"] === undefined || status !== 201) return undefined;
          isGranted.resolve();
          return new Promise(() => {});
        },
      });
      await tool.write("hello", programPipeline(untilCancelled));
      const waiting = tool.spawn(["run", "hello"], proxy.env);
      await written(waiting.stderr, /waiting up to 120 s/);
      await tool.run(["runs", "cancel", "--mine"]);
      await isGranted.promise;
      waiting.kill("SIGINT");
      const { exitCode, stderr } = await waiting;
      assert.equal(exitCode, 130, stderr);
      assert.match(stderr, /^pipeline: interrupted: hello cancelled \(run_\w+\)\.$/m);
      assert.deepEqual(await left(tool), { runs: ["hello cancelled", "long cancelled"], used: 2 });
    },
  );

  for (const isHeld of [false, true]) {
    const which = isHeld ? "a held start" : "the start";
    itOn(
      "posix",
      `when the answer to ${which} was lost: that run is found, cancelled and waited for`,
      async () => {
        await using tool = await toolbox();
        await placeTaken(tool);
        await tool.write("hello", programPipeline(untilCancelled));
        if (!isHeld) await tool.run(["runs", "cancel", "--mine", "--wait"]);
        const isLost = Promise.withResolvers<void>();
        let lost = 0;
        await using proxy = await ServiceProxy.before(tool.data, {
          losesReply: ({ line }, status) => {
            if (line !== "POST /api/runs" || status !== 201 || lost > 0) return false;
            lost += 1;
            isLost.resolve();
            return true;
          },
        });
        const starting = tool.spawn(["run", "hello"], proxy.env);
        if (isHeld) {
          await written(starting.stderr, /waiting up to 120 s/);
          await tool.run(["runs", "cancel", "--mine"]);
        }
        await isLost.promise;
        starting.kill("SIGINT");
        const { exitCode, stderr } = await starting;
        assert.equal(exitCode, 130, stderr);
        assert.match(stderr, /^pipeline: interrupted: hello cancelled \(run_\w+\)\.$/m);
        assert.deepEqual((await left(tool)).runs, ["hello cancelled", "long cancelled"]);
      },
    );
  }

  itOn("posix", "while the answer to the start doesn't come: that run is found and cancelled", async () => {
    await using tool = await toolbox();
    await tool.write("long", programPipeline(untilCancelled));
    await tool.run(["org"]);
    const isGranted = Promise.withResolvers<void>();
    let granted = 0;
    await using proxy = await ServiceProxy.before(tool.data, {
      beforeReply: ({ line }, status) => {
        if (line !== "POST /api/runs" || status !== 201) return undefined;
        granted += 1;
        isGranted.resolve();
        return granted === 1 ? new Promise(() => {}) : undefined;
      },
    });
    const starting = tool.spawn(["run", "long"], proxy.env);
    await isGranted.promise;
    starting.kill("SIGINT");
    const { exitCode, stderr } = await starting;
    assert.equal(exitCode, 130, stderr);
    assert.match(stderr, /^pipeline: interrupted: long cancelled \(run_\w+\)\.$/m);
    assert.deepEqual(await left(tool), { runs: ["long cancelled"], used: 1 });
  });

  for (const isTwice of [false, true]) {
    const when = isTwice ? ", at the second one at once" : "";
    itOn(
      "posix",
      `while no answer to a start ever comes: it claims no more than it knows${when}`,
      async () => {
        await using tool = await toolbox();
        await tool.write("long", programPipeline(untilCancelled));
        await tool.run(["org"]);
        const isGranted = Promise.withResolvers<void>();
        const isAskedAfter = Promise.withResolvers<void>();
        await using proxy = await ServiceProxy.before(tool.data, {
          beforeReply: ({ line }, status) => {
            if (line !== "POST /api/runs") return undefined;
            if (status === 409) isAskedAfter.resolve();
            if (status !== 201) return undefined;
            isGranted.resolve();
            return new Promise(() => {});
          },
        });
        const starting = tool.spawn(["run", "long", "--json"], proxy.env);
        await isGranted.promise;
        starting.kill("SIGINT");
        await isAskedAfter.promise;
        if (isTwice) starting.kill("SIGINT");
        const { exitCode, stdout } = await starting;
        assert.equal(exitCode, 130);
        const { type, message } = JSON.parse(stdout).error;
        assert.equal(type, "interrupted");
        assert.match(
          message,
          /whether a run of long was started is not known[:.] `pipeline runs list --in-work` tells\.$/,
        );
        assert.deepEqual((await left(tool)).runs, ["long running"]);
        await tool.run(["runs", "cancel", "--mine", "--wait"]);
      },
    );
  }

  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    itOn("posix", `while following (${signal}): the run is cancelled, and its place waited for`, async () => {
      await using tool = await toolbox();
      await tool.write("long", programPipeline(`${writePid} ${untilCancelled}`));
      const following = tool.spawn(["run", "long"]);
      const pid = await writtenPid(join(tool.project, "pid"));
      following.kill(signal);
      const { exitCode, stdout, stderr } = await following;
      assert.equal(exitCode, 130);
      assert(!isAlive(pid));
      assert.match(stdout, /^run_\w+ long cancelled$/);
      assert.match(
        stderr,
        /long: cancelling run_\w+; Ctrl-C again leaves at once, without waiting for its end\n/,
      );
      assert.match(stderr, /long: cancelled in [\s\S]*pipeline: interrupted: long cancelled \(run_\w+\)\.$/);
      assert.deepEqual(await left(tool), { runs: ["long cancelled"], used: 1 });
    });
  }

  itOn("posix", "while cancelling leaves at once, and tells what may still be in work", async () => {
    await using tool = await toolbox();
    await tool.write(
      "stubborn",
      programPipeline(`process.on("SIGTERM", () => {}); ${writePid} ${untilCancelled}`),
    );
    const following = tool.spawn(["run", "stubborn", "--json"]);
    const pid = await writtenPid(join(tool.project, "pid"));
    following.kill("SIGINT");
    await written(following.stderr, /cancelling/);
    following.kill("SIGINT");
    const { exitCode, stdout } = await following;
    assert.equal(exitCode, 130);
    assert(isAlive(pid), "it didn't wait for the end of the run");
    const { error, runs } = JSON.parse(stdout);
    const [{ "run-id": runId }] = runs;
    assert.equal(
      error.message,
      `interrupted: stubborn may still be in work (${runId}). \`pipeline runs show ${runId}\` tells.`,
    );
    await endProcess(pid, "SIGKILL");
  });

  itOn("posix", "starts none of the pipelines that come after", async () => {
    await using tool = await toolbox();
    await tool.write("long", programPipeline(`${writePid} ${untilCancelled}`));
    await tool.write("hello", programPipeline(""));
    const following = tool.spawn(["run", "hello", "long", "hello", "--json"]);
    await writtenPid(join(tool.project, "pid"));
    following.kill("SIGINT");
    const { exitCode, stdout } = await following;
    assert.equal(exitCode, 130);
    const told = JSON.parse(stdout);
    assert.equal(told.error.type, "interrupted");
    assert.match(
      told.error.message,
      /^interrupted: hello succeeded \(run_\w+\); long cancelled \(run_\w+\); hello was not started\.$/,
    );
    assert.deepEqual(await left(tool), { runs: ["long cancelled", "hello succeeded"], used: 2 });
  });

  itOn("posix", "leaves alone what --detach has started, and gives up the turn of the next", async () => {
    await using tool = await toolbox();
    await tool.write("long", programPipeline(untilCancelled));
    await tool.write("hello", programPipeline(""));
    const starting = tool.spawn(["run", "long", "hello", "--detach"]);
    await written(starting.stderr, /waiting up to 120 s/);
    starting.kill("SIGINT");
    const { exitCode, stdout, stderr } = await starting;
    assert.equal(exitCode, 130);
    assert.match(stdout, /^run_\w+ long running$/);
    assert.match(
      stderr,
      /interrupted: long was started \(run_\w+\); hello gave up its turn, and no run was started\.$/,
    );
    assert.deepEqual(await left(tool), { runs: ["long running"], used: 1 });
  });
});
