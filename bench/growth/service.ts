// The service on a database that has been filled before, with runs that are over as soon as they are launched.
import { mkdir, open, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as pause } from "node:timers/promises";
import { defaultRetention, sweepRuns } from "../../src/service/runs/retention.ts";
import { idMaker } from "../../src/service/store/ids.ts";
import { createKey } from "../../src/service/store/keys.ts";
import { databaseFile, openDatabase } from "../../src/service/store/openDatabase.ts";
import { sqliteWriter } from "../../src/service/store/writer.ts";
import { benchService } from "../benchService.ts";
import { answerCalls } from "../worker/answerCalls.ts";
import type { GrowthCalls } from "./calls.ts";
import { fillHistory } from "./fillHistory.ts";

const [folder = ""] = process.argv.slice(2);
const file = databaseFile(folder);
let service: Awaited<ReturnType<typeof benchService>> | undefined;

/** Another connection, as another program's. */
function beside(act: (db: DatabaseSync) => void): void {
  const db = new DatabaseSync(file, { timeout: 5_000 });
  try {
    act(db);
  } finally {
    db.close();
  }
}

answerCalls<GrowthCalls>(
  {
    async fill(filling) {
      await mkdir(join(folder, "project/pipelines"), { recursive: true });
      await writeFile(
        join(folder, "project/pipelines/hello.yaml"),
        "resources:\n  shell: { type: cli }\nsteps:\n  - use: shell\n    run: echo hello\n",
      );
      const db = await openDatabase(folder);
      const deps = { now: Date.now, makeId: idMaker(() => Date.now() - 4 * 365 * 86_400_000) };
      const { orgId, keyId, secret } = await createKey(db, { orgName: "org 0", role: "member" }, deps);
      const few = await createKey(db, { orgName: "org 0", role: "member" }, deps);
      for (const name of ["project", "seldom"]) {
        await db
          .insertInto("projects")
          .values({ org_id: orgId, name, root: join(folder, "project") })
          .execute();
      }
      await db.updateTable("orgs").set({ runs_per_day: 1_000_000 }).where("id", "=", orgId).execute();
      await db.destroy();
      const began = performance.now();
      let middle = "";
      beside((raw) => {
        middle = fillHistory(raw, filling, { org: orgId, key: keyId, keyOfFew: few.keyId });
      });
      // Synced with the truncated WAL: otherwise the first commit that is measured waits for that.
      const handle = await open(file, "r+");
      await handle.sync();
      await handle.close();
      const fillSeconds = (performance.now() - began) / 1000;
      const { size } = await stat(file);
      return { secret, keyOfFew: few.keyId, middle, fillSeconds, bytes: size };
    },
    async serve() {
      service = await benchService({
        folder,
        launch: () => ({
          pid: undefined,
          identity: Promise.resolve(undefined),
          ended: Promise.resolve({ kind: "succeeded" }),
          stop: () => {},
        }),
      });
      return service.url;
    },
    limit(parallelRuns) {
      beside((db) => db.prepare("update orgs set parallel_runs = ? where name = 'org 0'").run(parallelRuns));
    },
    async sweep() {
      const db = await openDatabase(folder);
      const writer = sqliteWriter(db);
      const delay = monitorEventLoopDelay({ resolution: 1 });
      // Whatever ran before does not count.
      await pause(50);
      delay.enable();
      await pause(50);
      delay.reset();
      const began = performance.now();
      const runs = await sweepRuns(
        { db, writer, folder, retention: defaultRetention, log: () => {} },
        Date.now(),
      );
      const milliseconds = performance.now() - began;
      await pause(20);
      delay.disable();
      await db.destroy();
      return { milliseconds, longestMilliseconds: delay.max / 1e6, runs };
    },
  },
  () => service?.close(),
);
