import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { utcDay } from "../../src/contract/day.ts";
import { idMaker } from "../../src/service/store/ids.ts";
import { createKey } from "../../src/service/store/keys.ts";
import { openDatabase } from "../../src/service/store/openDatabase.ts";

/** The keys of the orgs that take part. */
export interface Seeded {
  /** Of the free tier, with half of the day's runs used. */
  readonly free: string;
  /** Of the free tier, with all of them used. */
  readonly used: string;
  /** Each of an org without limits worth the name. */
  readonly unlimited: readonly string[];
}

const unlimited = 500;
const halfADay = 25;
const aDay = 50;

/** A pipeline that nothing of is ever run, since the benchmark's runs have no processes. */
const pipelineFile =
  "time-limit: 1h\nresources:\n  shell: { type: cli }\nsteps:\n  - use: shell\n    run: echo hello\n";

/** Makes the database that both servers begin with, and a project with one pipeline that each org knows. */
export async function seed(folder: string, projectFolder: string): Promise<Seeded> {
  await mkdir(join(projectFolder, "pipelines"), { recursive: true });
  await writeFile(join(projectFolder, "pipelines/hello.yaml"), pipelineFile);
  const db = await openDatabase(folder);
  const deps = { now: Date.now, makeId: idMaker(Date.now) };
  const makeOrg = async (orgName: string, runs: number): Promise<string> => {
    const { orgId, keyId, secret } = await createKey(db, { orgName, role: "member" }, deps);
    await db.insertInto("projects").values({ org_id: orgId, name: "bench", root: projectFolder }).execute();
    for (let count = 0; count < runs; count++) {
      const now = Date.now();
      await db
        .insertInto("runs")
        .values({
          id: deps.makeId("run"),
          org_id: orgId,
          project: "bench",
          pipeline: "hello",
          actor: keyId,
          runner: "bench",
          status: "succeeded",
          day: utcDay(now),
          created_at: now,
          stopped_at: now,
          time_limit_seconds: 30,
          reason: null,
          idempotency_key: null,
          holder: null,
          lease_until: null,
          runner_pid: null,
          runner_birth: null,
        })
        .execute();
    }
    return secret;
  };
  try {
    const free = await makeOrg("free", halfADay);
    const used = await makeOrg("used", aDay);
    const others: string[] = [];
    for (let count = 0; count < unlimited; count++) others.push(await makeOrg(`unlimited ${count}`, 0));
    await db
      .updateTable("orgs")
      .set({ parallel_runs: 1_000_000, runs_per_day: 1_000_000 })
      .where("name", "like", "unlimited %")
      .execute();
    return { free, used, unlimited: others };
  } finally {
    await db.destroy();
  }
}
