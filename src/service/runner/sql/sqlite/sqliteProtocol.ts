import * as z from "zod/mini";
import type { DeepReadonly } from "../../../../pipeline/schema/values.ts";

/**
 * What the runner and the process in which SQLite runs say to each other: each request gets one reply. SQLite has no way
 * to be interrupted from JavaScript, so a statement is cancelled by ending its process, which a database file survives.
 */
export const sqliteRequestSchema = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("open"),
    /** A file's absolute path, or `:memory:`. */
    location: z.string(),
    /** What the database is called in messages. */
    name: z.string(),
    isReadOnly: z.boolean(),
  }),
  z.object({
    kind: z.literal("run"),
    statements: z.array(z.object({ text: z.string(), params: z.array(z.unknown()) })),
    isTransaction: z.boolean(),
    lockPatienceMilliseconds: z.int(),
  }),
]);

export const sqliteReplySchema = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("done"),
    rows: z.object({ rows: z.array(z.string()), returned: z.int(), count: z.int() }),
  }),
  z.object({ kind: z.literal("failed"), problem: z.string() }),
]);

export type SqliteRequest = DeepReadonly<z.infer<typeof sqliteRequestSchema>>;

/** What the runner's program is told when it is to be the process in which SQLite runs. */
export const sqliteArgument = "--sqlite";
