import * as z from "zod/mini";
import { instant } from "../../contract/fields.ts";
import { logEntrySchema } from "../../contract/log.ts";
import { orgSchema } from "../../contract/org.ts";
import { pipelineListSchema } from "../../contract/pipelines.ts";
import { roles } from "../../contract/roles.ts";
import { runSchema } from "../../contract/run.ts";

const role = z.enum(roles);

const validatedFile = z.object({
  path: z.string(),
  /** The pipeline's name; missing in a file with problems. */
  pipeline: z.optional(z.string()),
  problems: z.array(
    z.object({
      message: z.string(),
      line: z.int().check(z.positive()),
      column: z.int().check(z.positive()),
    }),
  ),
});

/**
 * What each command tells with `--json` when all went well, beside `ok`, `command` and `warnings`. The names are
 * camelCase here and kebab-case in what is printed. A shape grows by fields that may be missing, and loses none.
 */
export const outputs = {
  run: z.object({ runs: z.array(runSchema) }),
  "runs list": z.object({ runs: z.array(runSchema), next: z.optional(z.string()) }),
  "runs show": runSchema,
  /** `status` is that of the log's end; missing where the service doesn't tell it. */
  "runs log": z.object({
    runId: z.string(),
    status: z.optional(z.string()),
    entries: z.array(logEntrySchema),
  }),
  "runs cancel": z.object({ runs: z.array(z.object({ runId: z.string(), status: z.string() })) }),
  /** `runsInWork` and `resetsAt` are there where the service tells its runs and its time. */
  org: z.extend(orgSchema, { resetsAt: z.optional(instant), runsInWork: z.optional(z.array(runSchema)) }),
  pipelines: pipelineListSchema,
  validate: z.object({ files: z.array(validatedFile) }),
  completion: z.object({ shell: z.string(), script: z.string() }),
  page: z.object({ url: z.url() }),
  serve: z.object({ url: z.url(), pid: z.int() }),
  backup: z.object({ file: z.string() }),
  login: z.object({
    baseUrl: z.url(),
    orgId: z.string(),
    orgName: z.string(),
    tier: z.string(),
    keyId: z.string(),
    /** The file that holds the key. */
    file: z.string(),
  }),
  /** The origins that there was a login of. */
  logout: z.object({ origins: z.array(z.string()) }),
  logins: z.object({
    /** The service that commands use, and whose word that is; no base URL for this machine's own. */
    inUse: z.object({
      because: z.enum(["environment", "base-url", "login", "default"]),
      baseUrl: z.optional(z.string()),
    }),
    logins: z.array(
      z.object({
        baseUrl: z.string(),
        keyId: z.string(),
        orgName: z.string(),
        isCurrent: z.boolean(),
      }),
    ),
  }),
  "keys create": z.object({ orgId: z.string(), keyId: z.string(), role, apiKey: z.string() }),
  "keys list": z.object({
    keys: z.array(
      z.object({
        keyId: z.string(),
        name: z.optional(z.string()),
        role,
        orgId: z.string(),
        orgName: z.string(),
        createdAt: instant,
        revokedAt: z.optional(instant),
        isMachine: z.boolean(),
      }),
    ),
  }),
  "keys revoke": z.object({
    keyId: z.string(),
    role,
    orgId: z.string(),
    orgName: z.string(),
    revokedAt: instant,
  }),
} as const;

/** A command by its words, without the tool's own name. */
export type CommandName = keyof typeof outputs;

export type Facts<C extends CommandName> = z.infer<(typeof outputs)[C]>;
