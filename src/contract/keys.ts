import * as z from "zod/mini";
import { instant } from "./fields.ts";
import { roles } from "./roles.ts";

const role = z.enum(roles);

/** A key's name goes into tables and logs, so it has no control characters. */
export const keyNameSchema = z
  .string()
  .check(z.minLength(1), z.maxLength(100), z.regex(/^\P{Cc}*$/u, "it has control characters"));

/** A key in a list, without its secret or the secret's hash. */
export const keySchema = z.object({
  keyId: z.string(),
  name: z.optional(z.string()),
  role,
  createdAt: instant,
  /** The key is refused from then on. */
  revokedAt: z.optional(instant),
  /** Whether it is the key of the request. */
  isActor: z.boolean(),
  /** Whether it is the key that this machine's faces share. */
  isMachine: z.boolean(),
});

/** `GET /api/keys`: for an owner every key of the org, for anyone else the caller's own. */
export const keyListSchema = z.object({ keys: z.array(keySchema) });

/** `POST /api/keys`: the body and the reply, which alone shows the secret. */
export const keyRequestSchema = z.strictObject({
  role,
  // A reader's own key is called that wherever runs are listed.
  name: z.optional(
    keyNameSchema.check(z.regex(/^(?!you$)/i, "`you` is what each reader's own key is called")),
  ),
});
export const newKeySchema = z.object({
  orgId: z.string(),
  keyId: z.string(),
  name: z.optional(z.string()),
  role,
  createdAt: instant,
  apiKey: z.string(),
});

export type Key = z.infer<typeof keySchema>;
