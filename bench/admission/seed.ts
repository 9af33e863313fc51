import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { freeTier, utcDay } from "../../src/contract/limits.ts";
import { idMaker, type MakeId } from "../../src/service/store/ids.ts";
import { createKeyOf } from "../../src/service/store/keys.ts";
import { openDatabase } from "../../src/service/store/openDatabase.ts";
import type { Write } from "../../src/service/store/tables.ts";

/** The keys of the orgs that take part. */
export interface Seeded {
  /** Of the free tier, with half of the day's runs used. */
  readonly free: string;
  /** Of the free tier, with all of them used. */
  readonly used: string;
  /** Each of an org without limits worth the name. */
  readonly unlimited: readonly string[];
}

const unlimitedOrgs = 500;
const noLimits = { parallelRuns: 1_000_000, runsPerDay: 1_000_000 };

/** A pipeline that nothing of is ever run, since the benchmark's runs have no processes. */
const pipelineFile =
  "time-limit: 1h\nresources:\n  shell: { type: cli }\nsteps:\n  - use: shell\n    run: echo hello\n";

/** Makes the database that both servers begin with, and a project with one pipeline that each org knows. */
export async function seed(folder: string, projectFolder: string): Promise<Seeded> {
  await mkdir(join(projectFolder, "pipelines"), { recursive: true });
  await writeFile(join(projectFolder, "pipelines/hello.yaml"), pipelineFile);
  const db = await openDatabase(folder);
  const makeId = idMaker(Date.now);
  try {
    return await db.transaction().execute(async (tx) => {
      const org = (name: string, limits: Limits, runs: number) =>
        makeOrg(tx, { name, limits, runs, projectFolder }, makeId);
      const free = await org("free", freeTier, freeTier.runsPerDay / 2);
      const used = await org("used", freeTier, freeTier.runsPerDay);
      const unlimited: string[] = [];
      for (let count = 0; count < unlimitedOrgs; count++) {
        unlimited.push(await org(`unlimited ${count}`, noLimits, 0));
      }
      return { free, used, unlimited };
    });
  } finally {
    await db.destroy();
  }
}

type Limits = Readonly<Record<"parallelRuns" | "runsPerDay", number>>;

interface NewOrg {
  readonly name: string;
  readonly limits: Limits;
  /** How many of today's it has used. */
  readonly runs: number;
  readonly projectFolder: string;
}

/** @returns the secret of a member's key. */
async function makeOrg(
  tx: Write,
  { name, limits, runs, projectFolder }: NewOrg,
  makeId: MakeId,
): Promise<string> {
  const id = makeId("org");
  const now = Date.now();
  await tx
    .insertInto("orgs")
    .values({
      id,
      name,
      tier: freeTier.tier,
      parallel_runs: limits.parallelRuns,
      runs_per_day: limits.runsPerDay,
      created_at: now,
    })
    .execute();
  await tx.insertInto("projects").values({ org_id: id, name: "bench", root: projectFolder }).execute();
  const { keyId, secret } = await createKeyOf(tx, id, { role: "member" }, { now: Date.now, makeId });
  for (let count = 0; count < runs; count++) {
    await tx
      .insertInto("runs")
      .values({
        id: makeId("run"),
        org_id: id,
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
      })
      .execute();
  }
  return secret;
}
