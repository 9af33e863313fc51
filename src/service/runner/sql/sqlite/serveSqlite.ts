import { DatabaseSync } from "node:sqlite";
import { RowReader } from "../rowReader.ts";
import type { SqlOutcome } from "../sqlConnection.ts";
import { type Opened, runStatements } from "./runStatements.ts";
import { describeSqliteProblem } from "./sqliteProblem.ts";
import { type SqliteRequest, sqliteRequestSchema } from "./sqliteProtocol.ts";

/** The parts of `process` that serve a parent. */
interface Channel {
  on(event: "message", listener: (message: unknown) => void): unknown;
  on(event: "disconnect" | "SIGTERM", listener: () => void): unknown;
  send?(message: SqlOutcome): unknown;
  exit(code: number): unknown;
}

/** Holds one SQLite database open and runs what the parent process asks for, until that lets go of this process. */
export function serveSqlite(channel: Channel): void {
  let opened: Opened | undefined;
  const answer = (request: SqliteRequest): SqlOutcome => {
    switch (request.kind) {
      case "open": {
        const { isReadOnly, location, name } = request;
        try {
          opened = { database: new DatabaseSync(location, { readOnly: isReadOnly }), name, isReadOnly };
          return done;
        } catch (error) {
          return { kind: "failed", problem: describeSqliteProblem(error, request) };
        }
      }
      case "run":
        return opened === undefined
          ? { kind: "failed", problem: "the database isn't open" }
          : runStatements(opened, request);
      default:
        return request satisfies never;
    }
  };
  channel.on("message", (message) => channel.send?.(answer(sqliteRequestSchema.parse(message))));
  channel.on("disconnect", () => {
    // Without this SQLite leaves its side files behind.
    opened?.database.close();
    channel.exit(0);
  });
  // When the run ends, whoever holds this process lets go of it, or kills it while it is busy.
  channel.on("SIGTERM", () => {});
}

const done: SqlOutcome = { kind: "done", rows: new RowReader().end(0) };
