import { setTimeout as pause } from "node:timers/promises";
import { sql } from "kysely";
import type { Database } from "../../src/service/store/tables.ts";
import { familyMilliseconds, usageOf } from "../processUsage.ts";
import { makeUsed, type Used } from "./used.ts";

/** What is begun behind a reply, and what PostgreSQL writes late, is counted with what it is from. In milliseconds. */
const settle = 500;

export interface Metered {
  readonly seconds: number;
  readonly used: Used;
}

/** Counts what the servers and their PostgreSQL use, by `pg_stat_statements`, the WAL's length and the system's times. */
export class Meter {
  readonly #db: Database;
  readonly #postgres: number;
  readonly #servers: readonly number[];

  /** @param servers their processes: those that are added later count from then on. */
  constructor(db: Database, postgres: number, servers: readonly number[]) {
    this.#db = db;
    this.#postgres = postgres;
    this.#servers = servers;
  }

  /** What was used while `act` ran. The benchmark itself may ask the database for nothing meanwhile. */
  async during(act: () => Promise<unknown>): Promise<Metered> {
    await pause(settle);
    const [before, began] = [await this.#read(), performance.now()];
    await act();
    await pause(settle);
    const [after, ended] = [await this.#read(), performance.now()];
    return {
      seconds: (ended - began) / 1000,
      used: makeUsed((measure) => after[measure] - before[measure]),
    };
  }

  async #read(): Promise<Used> {
    const [servers, databaseMilliseconds] = await Promise.all([
      Promise.all(this.#servers.map((pid) => usageOf(pid))),
      familyMilliseconds(this.#postgres),
    ]);
    const { rows } = await sql<Omit<Used, "serverMilliseconds" | "databaseMilliseconds">>`
      select coalesce(sum(calls), 0)::bigint as statements,
        coalesce(sum(rows) filter (where query ~* '^\\s*(insert|update|delete|with claimed)'), 0)::bigint as rows,
        coalesce(sum(rows) filter (where query like '%pg_notify%'), 0)::bigint as notifications,
        coalesce(sum(calls) filter (where query like '%pg_notify%'), 0)::bigint as "notifyCommits",
        pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint as "walBytes"
      from pg_stat_statements join pg_database on pg_database.oid = dbid
      where datname = current_database() and query not like '%pg_stat_statements%'`.execute(this.#db);
    const [row] = rows;
    if (row === undefined) throw new Error("pg_stat_statements tells nothing");
    return {
      ...row,
      databaseMilliseconds,
      serverMilliseconds: servers.reduce((all, { milliseconds }) => all + milliseconds, 0),
    };
  }
}
