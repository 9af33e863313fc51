import * as z from "zod/mini";
import { instant } from "./fields.ts";

/**
 * What a key may do. The contract says only that members cancel and that every role reads the org. A `runner` isn't a person: it
 * takes its org's work and does nothing else (contract: "Many machines").
 */
export const roles = ["owner", "member", "viewer", "runner"] as const;

/** The name of the org of runners that take work of every org. It has no runs. */
export const everyOrgName = "*";

export type Role = (typeof roles)[number];

/** Whether the role may start and cancel runs and name projects. */
export function mayChangeRuns(role: Role): boolean {
  return role === "owner" || role === "member";
}

/** Whether the role may create and revoke keys, and see other people's. */
export function mayManageKeys(role: Role): boolean {
  return role === "owner";
}

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
  /** From when the key is refused. */
  revokedAt: z.optional(instant),
  /** Whether this key made the request. */
  isActor: z.boolean(),
  /** Whether the faces on this machine share this key. */
  isMachine: z.boolean(),
});

/** `GET /api/keys`: for an owner every key of the org, for anyone else the caller's own. */
export const keyListSchema = z.object({ keys: z.array(keySchema) });

/** `POST /api/keys`: the body and the reply, which alone shows the secret. */
export const keyRequestSchema = z.strictObject({
  role,
  // Run lists say `you` for the reader's own key.
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
