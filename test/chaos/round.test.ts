import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { itOn } from "../itOn.ts";
import { playRound, type Round } from "./round.ts";

/** What a round with a fault says, and what it keeps. */
async function faultsOf(play: (round: Round) => Promise<void>) {
  const error = await playRound("planted", play).catch((thrown: unknown) => thrown);
  assert(error instanceof assert.AssertionError);
  const file = /What happened: (.*)$/.exec(error.message)?.[1] ?? assert.fail(error.message);
  const folder = file.replace(".ndjson", "");
  const trace = await readFile(file, "utf8");
  const kept = await readFile(join(folder, "kept"), "utf8").catch(() => undefined);
  await rm(file);
  await rm(folder, { recursive: true });
  return { message: error.message, trace, kept };
}

describe("a round of the chaos tests", () => {
  it("passes where nothing is wrong", () =>
    playRound("planted", async (round) => round.checkSame([1], [1], "lists differ")));

  it("tells a check that failed once, and keeps its trace and folder", async () => {
    const { message, trace, kept } = await faultsOf(async (round) => {
      await writeFile(join(round.folder, "kept"), "it");
      for (const _ of round.acts([{ act: "count" }])) round.check(false, "two is one", { two: 2 });
      round.check(false, "two is one");
    });
    assert.equal(message.split("two is one").length, 2);
    assert.match(trace, /"what":"act","facts":\{"act":"count"\}/);
    assert.match(trace, /"what":"FAULT: two is one","facts":\{"two":2\}/);
    assert.equal(kept, "it");
  });

  it("takes a throw for a fault, and what doesn't come to rest", async () => {
    const { message } = await faultsOf(async (round) => {
      await round.comesToRest("it goes on", 0, async () => ({ open: 1 }));
      throw new Error("no such thing");
    });
    assert.match(message, /it goes on\nthe round broke off: Error: no such thing/);
  });

  // Other systems don't show whose a process is.
  itOn("linux", "takes a process that is left behind for a fault, and ends it", async () => {
    let pid: number | undefined;
    const { message } = await faultsOf(async ({ environment }) => {
      const env = { ...process.env, ...environment };
      pid = spawn(process.execPath, ["-e", "setInterval(() => {}, 1e6)"], { env, stdio: "ignore" }).pid;
    });
    assert.match(message, /a process has outlived the round/);
    assert(pid !== undefined && !existsSync(`/proc/${pid}/exe`));
  });
});
