// The service, with runs whose processes are gone when the benchmark says so.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { RunnerEnd } from "../../src/service/runner/launch.ts";
import { createKey } from "../../src/service/store/keys.ts";
import { benchService } from "../benchService.ts";
import { answerCalls, sharedNow } from "../worker/answerCalls.ts";
import type { ServerCalls } from "./calls.ts";

const [folder = ""] = process.argv.slice(2);
/** The runs in work, by their id. */
const jobs = new Map<string, () => void>();
const onStopped = new Map<string, (at: number) => void>();
const orgs: string[] = [];

const service = await benchService({
  folder,
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
    // Written when the commit is done, and before anything comes of it.
    if (message === "run stopped") onStopped.get(String(facts?.["runId"]))?.(sharedNow());
  },
});
const { db, makeId, places } = service.core;

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
    async someoneWaits(org) {
      while (places.waitingFor(orgs[org] ?? "") === 0) await pause(1);
    },
    async endRun(org) {
      const runId = await runInWork(orgs[org] ?? "");
      const { promise, resolve } = Promise.withResolvers<number>();
      onStopped.set(runId, resolve);
      const gone = sharedNow();
      jobs.get(runId)?.();
      const givenUp = await promise;
      onStopped.delete(runId);
      return { gone, givenUp };
    },
  },
  () => service.close(),
);

/** The run that holds the org's place, once it has been launched. */
async function runInWork(orgId: string): Promise<string> {
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
