import * as z from "zod/mini";
import { instant } from "./instant.ts";
import { roles } from "./role.ts";

const role = z.enum(roles);

/** What people call a key by; it goes into tables and logs, so nothing in it may move a cursor. */
const keyNameSchema = z
  .string()
  .check(z.minLength(1), z.maxLength(100), z.regex(/^\P{Cc}*$/u, "it has control characters"));

/** A key as it is listed: never its secret, nor the hash of it. */
export const keySchema = z.object({
  keyId: z.string(),
  name: z.optional(z.string()),
  role,
  createdAt: instant,
  /** From then on the key opens nothing. */
  revokedAt: z.optional(instant),
  /** Whether the request came with this key. */
  isActor: z.boolean(),
  /** Whether it is the one that this machine's own faces use. */
  isMachine: z.boolean(),
});

/** `GET /api/keys`: for an owner every key of the org, for anyone else the caller's own. */
export const keyListSchema = z.object({ keys: z.array(keySchema) });

/** `POST /api/keys`: the body, and what comes back, which is the only time that the secret is shown. */
export const keyRequestSchema = z.strictObject({ role, name: z.optional(keyNameSchema) });
export const newKeySchema = z.object({
  orgId: z.string(),
  keyId: z.string(),
  name: z.optional(z.string()),
  role,
  createdAt: instant,
  apiKey: z.string(),
});

export type Key = z.infer<typeof keySchema>;
