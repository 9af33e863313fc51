import { DatabaseSync, type SQLOutputValue, type StatementSync } from "node:sqlite";
import * as z from "zod/mini";
import { nextReset, utcDay } from "../../contract/day.ts";
import type { Project } from "../../contract/pipelineList.ts";
import { roles } from "../../contract/role.ts";
import { keyIdOf } from "../apiSecret.ts";
import { repeatedRun } from "./admitRun.ts";
import { type Caller, callerOf, type KeyRow, keyById } from "./keys.ts";
import { databaseFile } from "./openDatabase.ts";
import { type OrgRow, orgOfDay, placesTaken } from "./orgs.ts";
import { projectsOfName } from "./projects.ts";
import type { Statement } from "./statement.ts";
import { storageFault } from "./storageFault.ts";

const keyRow = z.object({
  id: z.string(),
  org_id: z.string(),
  role: z.enum(roles),
  hash: z.string(),
  revoked_at: z.nullable(z.number()),
});
const orgRow = z.object({
  id: z.string(),
  name: z.string(),
  tier: z.string(),
  parallel_runs: z.number(),
  runs_per_day: z.number(),
  runs_today: z.number(),
});
const countRow = z.object({ count: z.number() });
const projectRow = z.object({ name: z.string(), root: z.string() });

/** Nobody waits for another's write here; only who repairs the database after a crash can be in the way, for a moment. */
const busyMilliseconds = 100;

/** More keys, orgs and projects than ask between two commits. */
const mostRemembered = 5_000;

/**
 * What is committed, read at once by a connection of its own, which waits for no write that is under way.
 *
 * What was read is remembered for as long as the database is the same: SQLite itself tells this connection of each commit
 * that any other one makes, the service's own writes and those of other processes alike. So an answer is still derived
 * from the rows, and can't drift from them: a revoked key, a run more or another tier is seen by the first question after
 * its commit.
 */
export class CommittedReads implements Disposable {
  readonly #sqlite: DatabaseSync;
  readonly #file: string;
  readonly #version: StatementSync;
  readonly #prepared = new Map<string, StatementSync>();
  #seen: SQLOutputValue | undefined;
  #latest: Committed;

  /** @param folder the data folder, whose database was opened, and so brought up to date, before. */
  constructor(folder: string) {
    this.#file = databaseFile(folder);
    this.#sqlite = new DatabaseSync(this.#file);
    this.#sqlite.exec(`pragma query_only = on; pragma busy_timeout = ${busyMilliseconds}`);
    this.#version = this.#sqlite.prepare("pragma data_version");
    this.#latest = this.#committed();
  }

  /** What is committed now: to be used at once, and not kept over an `await`. @throws PipelineError of the disk. */
  latest(): Committed {
    const now = this.#told(() => this.#version.get()?.["data_version"]);
    if (now === undefined || now !== this.#seen) {
      this.#latest = this.#committed();
      this.#seen = now;
    }
    return this.#latest;
  }

  [Symbol.dispose](): void {
    if (this.#sqlite.isOpen) this.#sqlite.close();
  }

  #committed(): Committed {
    return new Committed((statement, values) => this.#row(statement, values));
  }

  #row<Values>({ text, parameters }: Statement<Values, unknown>, values: Values): unknown {
    return this.#told(() => {
      let prepared = this.#prepared.get(text);
      if (prepared === undefined) {
        prepared = this.#sqlite.prepare(text);
        this.#prepared.set(text, prepared);
      }
      return prepared.get(...parameters(values));
    });
  }

  #told<T>(act: () => T): T {
    try {
      return act();
    } catch (error) {
      throw storageFault(error, this.#file);
    }
  }
}

type ReadRow = <Values>(statement: Statement<Values, unknown>, values: Values) => unknown;

/** The database as one commit has left it. */
export class Committed {
  readonly #row: ReadRow;
  readonly #keys = new Map<string, KeyRow>();
  readonly #orgs = new Map<string, { readonly reset: number; readonly org: OrgRow }>();
  readonly #texts = new WeakMap<OrgRow, Map<string, string>>();
  readonly #taken = new Map<string, number>();
  readonly #projects = new Map<string, Project>();

  constructor(row: ReadRow) {
    this.#row = row;
  }

  /** Who asks with this secret. @returns undefined for one that belongs to no key, or to a revoked one. */
  caller(secret: string): Caller | undefined {
    const id = keyIdOf(secret);
    if (id === undefined) return undefined;
    const known = this.#keys.get(id);
    if (known !== undefined) return callerOf(secret, known);
    const key = this.#one(keyById, { id }, keyRow);
    // Ids that there are not are not remembered: anyone can make them up.
    if (key !== undefined) remember(this.#keys, id, key);
    return callerOf(secret, key);
  }

  /** The org, with the runs counted in the UTC day of `now`. @throws Error when there is none. */
  org(orgId: string, now: number): OrgRow {
    const reset = nextReset(now);
    const known = this.#orgs.get(orgId);
    if (known?.reset === reset) return known.org;
    const org = this.#one(orgOfDay, { orgId, day: utcDay(now) }, orgRow);
    if (org === undefined) throw new Error(`there is no org ${orgId}`);
    remember(this.#orgs, orgId, { reset, org });
    return org;
  }

  /** What is made of an org as it is now, and nothing else: made once. `what` tells it from all else that is made of it. */
  madeOf(org: OrgRow, what: string, make: () => string): string {
    const texts = this.#texts.get(org) ?? new Map<string, string>();
    this.#texts.set(org, texts);
    const known = texts.get(what);
    if (known !== undefined) return known;
    const text = make();
    remember(texts, what, text);
    return text;
  }

  /** How many runs of the org hold a place. */
  placesTaken(orgId: string): number {
    const known = this.#taken.get(orgId);
    if (known !== undefined) return known;
    const count = this.#one(placesTaken, { orgId }, countRow)?.count ?? 0;
    remember(this.#taken, orgId, count);
    return count;
  }

  /** The org's project of a name. */
  project(orgId: string, name: string): Project | undefined {
    const id = `${orgId} ${name}`;
    const known = this.#projects.get(id);
    if (known !== undefined) return known;
    const project = this.#one(projectsOfName, { orgId, name }, projectRow);
    if (project !== undefined) remember(this.#projects, id, project);
    return project;
  }

  /** Whether a key's wish has started a run. */
  isRepeated(actor: string, idempotencyKey: string): boolean {
    return this.#row(repeatedRun, { actor, idempotencyKey }) !== undefined;
  }

  #one<Values, Row>(
    statement: Statement<Values, unknown>,
    values: Values,
    schema: z.ZodMiniType<Row>,
  ): Row | undefined {
    const row = this.#row(statement, values);
    return row === undefined ? undefined : z.parse(schema, row);
  }
}

function remember<Value>(map: Map<string, Value>, id: string, value: Value): void {
  if (map.size >= mostRemembered) map.clear();
  map.set(id, value);
}
