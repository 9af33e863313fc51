import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { sql } from "kysely";
import pg from "pg";
import * as z from "zod/mini";
import type { Role } from "../../src/contract/keys.ts";
import { idMaker } from "../../src/service/store/ids.ts";
import { createKey } from "../../src/service/store/keys.ts";
import type { Database } from "../../src/service/store/tables.ts";
import { openPostgres } from "../../src/team/store/openPostgres.ts";
import { Worker } from "../worker/worker.ts";
import type { ServerCalls } from "./server.ts";

const program = join(import.meta.dirname, "server.ts");
/** A database of its own in a PostgreSQL, and servers on it, each in a process of its own. */
export class Team implements AsyncDisposable {
  readonly db: Database;
  /** The processes of its servers. */
  readonly pids: number[] = [];
  readonly url: string;
  readonly #stack: AsyncDisposableStack;

  private constructor(url: string, db: Database, stack: AsyncDisposableStack) {
    this.url = url;
    this.db = db;
    this.#stack = stack;
  }

  /** @param postgres the URL of any database of that PostgreSQL. */
  static async make(postgres: string): Promise<Team> {
    const name = `team_${randomUUID().replaceAll("-", "")}`;
    const first = await openPostgres(postgres, () => {});
    await sql`create database ${sql.id(name)}`.execute(first.db);
    await first.db.destroy();
    const url = new URL(postgres);
    url.pathname = name;
    await using stack = new AsyncDisposableStack();
    const { db } = await openPostgres(url.href, () => {});
    stack.defer(() => db.destroy());
    return new Team(url.href, db, stack.move());
  }

  /** @returns the address of another server. */
  server(): Promise<string> {
    const worker = this.#stack.use(new Worker<ServerCalls>(program, []));
    this.pids.push(worker.pid);
    return worker.call("serve", this.url);
  }

  /** Statements that take longer than a server lets one of its own. */
  async patiently(
    statements: readonly (readonly [text: string, values?: readonly unknown[]])[],
  ): Promise<void> {
    const client = new pg.Client(this.url);
    await client.connect();
    for (const [text, values = []] of statements) await client.query(text, [...values]);
    await client.end();
  }

  /** A new key. */
  key(role: Role, orgName = "team") {
    return createKey(this.db, { orgName, role }, { now: Date.now, makeId: idMaker(Date.now) });
  }

  /** Lets every org start as many runs a day as a benchmark needs. */
  async lift(): Promise<void> {
    await this.db.updateTable("orgs").set({ runs_per_day: 1_000_000 }).execute();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }
}

/** Asks for a run of one `cli` step. @returns its id, once the reply is there. */
export async function start(
  url: string,
  apiKey: string,
  waitSeconds = 0,
  line = "echo hello",
): Promise<string> {
  const text = `resources:\n  shell: { type: cli }\nsteps:\n  - use: shell\n    run: ${line}\n`;
  const reply = await fetch(`${url}/api/runs`, {
    method: "POST",
    headers: { "x-api-key": apiKey, prefer: `wait=${waitSeconds}`, "idempotency-key": randomUUID() },
    body: JSON.stringify({
      ...{ pipeline: "hello", project: "shop" },
      definition: { path: "pipelines/hello.yaml", text },
    }),
  });
  if (reply.status !== 201) throw new Error(await reply.text());
  return z.object({ "run-id": z.string() }).parse(await reply.json())["run-id"];
}

/** Cancels a run; one that no runner has taken ends at once. */
export async function cancel(url: string, apiKey: string, runId: string): Promise<void> {
  const reply = await fetch(`${url}/api/runs/${runId}/cancel`, {
    method: "POST",
    headers: { "x-api-key": apiKey },
  });
  if (!reply.ok) throw new Error(await reply.text());
  await reply.text();
}
