import * as z from "zod/mini";
import { errorBodySchema } from "../../contract/errorBody.ts";
import { handOverReplySchema } from "../../contract/handOver.ts";
import { healthSchema } from "../../contract/health.ts";
import { keyListSchema, keyRequestSchema, keySchema, newKeySchema } from "../../contract/key.ts";
import { logEntrySchema } from "../../contract/logEntry.ts";
import { orgSchema } from "../../contract/org.ts";
import {
  projectListSchema,
  projectRequestSchema,
  projectSchema,
  servedPipelineListSchema,
} from "../../contract/pipelineList.ts";
import {
  cancelReplySchema,
  servedRunListSchema,
  servedRunSchema,
  startRequestSchema,
} from "../../contract/run.ts";
import { signInLinkSchema } from "../../contract/signInLink.ts";

/** The contract's schemas that the document names: the very ones that check what comes in. */
export const schemas = {
  Health: healthSchema,
  HandOverReply: handOverReplySchema,
  Error: errorBodySchema,
  Org: orgSchema,
  Run: servedRunSchema,
  RunList: servedRunListSchema,
  StartRequest: startRequestSchema,
  CancelReply: cancelReplySchema,
  LogEntry: logEntrySchema,
  PipelineList: servedPipelineListSchema,
  Project: projectSchema,
  ProjectList: projectListSchema,
  ProjectRequest: projectRequestSchema,
  Key: keySchema,
  KeyList: keyListSchema,
  KeyRequest: keyRequestSchema,
  NewKey: newKeySchema,
  SignInLink: signInLinkSchema,
  OpenApi: z.record(z.string(), z.unknown()),
} as const satisfies Record<string, z.ZodMiniType>;

export type SchemaName = keyof typeof schemas;
