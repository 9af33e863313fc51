import * as z from "zod/mini";
import { instant } from "../../contract/fields.ts";
import { keySchema, roles } from "../../contract/keys.ts";
import { logEntrySchema } from "../../contract/log.ts";
import { orgSchema } from "../../contract/org.ts";
import { inputValuesSchema, pipelineListSchema } from "../../contract/pipelines.ts";
import {
  artifactSchema,
  changesSchema,
  commitSchema,
  ranPipelineSchema,
  runSchema,
} from "../../contract/run.ts";
import { serviceStateSchema } from "../../contract/service.ts";
import { dryRunSchema } from "../../runner/launch/messages.ts";

const role = z.enum(roles);
const serviceState = z.partial(serviceStateSchema);
const orgLimits = z.pick(orgSchema, { orgId: true, orgName: true, tier: true, limits: true });

const validatedFile = z.object({
  path: z.string(),
  /** The pipeline's name; absent for an invalid file. */
  pipeline: z.optional(z.string()),
  problems: z.array(
    z.object({
      message: z.string(),
      line: z.int().check(z.positive()),
      column: z.int().check(z.positive()),
    }),
  ),
});

/** What `run --dry-run` found out about a pipeline. */
const dryRun = z.extend(dryRunSchema, {
  pipeline: z.string(),
  path: z.string(),
  timeLimitSeconds: z.int(),
});

/** What stopping a service ended. */
const ended = { runs: serviceStateSchema.shape.runs, waiting: z.int(), dataFolder: z.string() };

/**
 * Each command's result with `--json`, besides `ok`, `command` and `warnings`. Names are camelCase here and kebab-case in the
 * output. New fields are optional, and no field is ever removed.
 */
export const outputs = {
  run: z.object({ runs: z.array(runSchema), dryRuns: z.optional(z.array(dryRun)) }),
  "runs list": z.object({ runs: z.array(runSchema), next: z.optional(z.string()) }),
  "runs show": runSchema,
  /** `status` is the run's status at the end of the log; absent if the service doesn't send it. */
  "runs log": z.object({
    runId: z.string(),
    status: z.optional(z.string()),
    entries: z.array(logEntrySchema),
  }),
  "runs download": z.object({
    runId: z.string(),
    folder: z.string(),
    files: z.array(z.extend(artifactSchema, { path: z.string() })),
  }),
  "runs diff": z.extend(changesSchema, {
    runId: z.string(),
    commit: z.optional(commitSchema),
    inputs: z.optional(inputValuesSchema),
  }),
  "runs file": z.extend(ranPipelineSchema, { runId: z.string() }),
  "runs cancel": z.object({ runs: z.array(z.object({ runId: z.string(), status: z.string() })) }),
  /** `runsInWork` is absent if the service doesn't list runs, and `resetsAt` if it sends no time. */
  org: z.extend(orgSchema, {
    resetsAt: z.optional(instant),
    runsInWork: z.optional(z.array(runSchema)),
    /** Who used the day's runs; absent if the service doesn't list runs. */
    byPipeline: z.optional(z.array(z.object({ pipeline: z.string(), runs: z.int() }))),
    byActor: z.optional(
      z.array(z.object({ actor: z.string(), actorName: z.optional(z.string()), runs: z.int() })),
    ),
    /** When the day's runs will be used up at today's pace; absent if they last. */
    usedUpAt: z.optional(instant),
  }),
  pipelines: pipelineListSchema,
  validate: z.object({ files: z.array(validatedFile) }),
  completion: z.object({ shell: z.string(), script: z.string() }),
  page: z.object({ url: z.url() }),
  serve: z.object({ url: z.url(), pid: z.int() }),
  /** A running service's facts are absent if none runs; `runs`, `waiting` and `started-at` also for an older service. */
  "service status": z.object({
    running: z.boolean(),
    /** Whether a person has stopped it. */
    stopped: z.boolean(),
    url: z.optional(z.url()),
    pid: z.optional(z.int()),
    version: z.optional(z.string()),
    ...serviceState.shape,
    dataFolder: z.string(),
    /** The size of the data folder. */
    bytes: z.int(),
  }),
  "service where": z.object({
    dataFolder: z.string(),
    /** What names the data folder. */
    because: z.enum(["--data-dir", "PIPELINE_DATA_DIR", "default"]),
    database: z.string(),
    runs: z.string(),
    serviceLog: z.string(),
    connection: z.string(),
    logins: z.string(),
    cache: z.optional(z.string()),
  }),
  /** `pid` is absent if none was running. */
  "service stop": z.object({
    stopped: z.boolean(),
    pid: z.optional(z.int()),
    ...ended,
  }),
  "service restart": z.object({
    url: z.url(),
    pid: z.int(),
    version: z.optional(z.string()),
    ...ended,
  }),
  runner: z.object({ runnerId: z.string(), service: z.url(), slots: z.int() }),
  /** Empty, since the protocol uses standard output. */
  mcp: z.object({}),
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
  /** The origins whose login was removed. */
  logout: z.object({ origins: z.array(z.string()) }),
  logins: z.object({
    /** The service in use and the reason; no base URL for this machine's own. */
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
    keys: z.array(z.extend(z.omit(keySchema, { isActor: true }), { orgId: z.string(), orgName: z.string() })),
  }),
  "keys revoke": z.object({
    keyId: z.string(),
    role,
    orgId: z.string(),
    orgName: z.string(),
    revokedAt: instant,
  }),
  "orgs list": z.object({ orgs: z.array(orgLimits) }),
  "orgs set": orgLimits,
} as const;

/** A command's words, without the tool's name. */
export type CommandName = keyof typeof outputs;

export type Facts<C extends CommandName> = z.infer<(typeof outputs)[C]>;
