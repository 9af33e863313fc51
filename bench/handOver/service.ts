// The service, with runs whose processes are gone when the benchmark says so.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { waitSeconds } from "../../src/contract/limits.ts";
import type { RunnerEnd } from "../../src/contract/runners.ts";
import { systemClock } from "../../src/machine/clock.ts";
import { idMaker } from "../../src/service/store/ids.ts";
import { createKey } from "../../src/service/store/keys.ts";
import { openDatabase } from "../../src/service/store/openDatabase.ts";
import { benchService } from "../benchService.ts";
import { answerCalls, sharedNow } from "../worker/answerCalls.ts";
import type { ServerCalls } from "./calls.ts";

const [folder = ""] = process.argv.slice(2);
/** The active runs, by their id. */
const jobs = new Map<string, () => void>();
const onStopped = new Map<string, () => void>();
const orgs: string[] = [];

/** How many wait in the queue: each has a timer for the end of its wait, the contract's 120 s or what is left of them. */
let waiting = 0;

const service = await benchService({
  folder,
  clock: {
    ...systemClock,
    after(milliseconds, callBack) {
      const takeBack = systemClock.after(milliseconds, callBack);
      if (milliseconds > waitSeconds * 1000 || milliseconds <= 60_000) return takeBack;
      waiting += 1;
      return () => {
        waiting -= 1;
        takeBack();
      };
    },
  },
  launch({ runId }) {
    const { promise: ended, resolve } = Promise.withResolvers<RunnerEnd>();
    const end = () => {
      jobs.delete(runId);
      resolve({ kind: "succeeded" });
    };
    jobs.set(runId, end);
    return { pid: undefined, identity: Promise.resolve(undefined), ended, stop: end };
  },
  onLog(_level, message, facts) {
    // Not before the reply is on its way, as at the floor: to answer the benchmark takes time.
    const stopped = message === "run stopped" ? onStopped.get(String(facts?.["runId"])) : undefined;
    if (stopped !== undefined) setImmediate(stopped);
  },
});
const db = await openDatabase(folder);
const makeId = idMaker(Date.now);

answerCalls<ServerCalls>(
  {
    async open(count) {
      const root = join(folder, "project");
      await mkdir(join(root, "pipelines"), { recursive: true });
      await writeFile(
        join(root, "pipelines/hello.yaml"),
        "time-limit: 1h\nresources:\n  shell: { type: cli }\nsteps:\n  - use: shell\n    run: echo hello\n",
      );
      const keys: string[] = [];
      for (let at = 0; at < count; at += 1) {
        const key = await createKey(db, { orgName: `org ${at}`, role: "member" }, { now: Date.now, makeId });
        await db.updateTable("orgs").set({ runs_per_day: 1_000_000 }).where("id", "=", key.orgId).execute();
        await db.insertInto("projects").values({ org_id: key.orgId, name: "project", root }).execute();
        orgs.push(key.orgId);
        keys.push(key.secret);
      }
      return { url: service.url, keys };
    },
    async someoneWaits() {
      while (waiting === 0) await pause(1);
    },
    async endRun(org) {
      const runId = await activeRun(orgs[org] ?? "");
      const { promise: stopped, resolve } = Promise.withResolvers<void>();
      onStopped.set(runId, resolve);
      const gone = sharedNow();
      jobs.get(runId)?.();
      await stopped;
      onStopped.delete(runId);
      return gone;
    },
  },
  async () => {
    await service.close();
    await db.destroy();
  },
);

/** The run that holds the org's slot, once it has been launched. */
async function activeRun(orgId: string): Promise<string> {
  for (;;) {
    const row = await db
      .selectFrom("runs")
      .select("id")
      .where("org_id", "=", orgId)
      .where("stopped_at", "is", null)
      .executeTakeFirst();
    if (row !== undefined && jobs.has(row.id)) return row.id;
    await pause(1);
  }
}
