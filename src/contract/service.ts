import * as z from "zod/mini";
import { instant } from "./fields.ts";

/** The body of an error over HTTP (contract: "Refusals and errors over HTTP"). `next`, what to do, is this project's addition. */
export const errorBodySchema = z.object({
  error: z.object({
    type: z.string(),
    message: z.string(),
    scope: z.optional(z.string()),
    next: z.optional(z.string()),
  }),
});

/** `GET /healthz`. `instance` identifies one start of the service; `inputs` says whether starts may have inputs. */
export const healthSchema = z.object({
  ok: z.literal(true),
  instance: z.optional(z.string()),
  version: z.optional(z.string()),
  inputs: z.optional(z.boolean()),
});

export type Health = z.infer<typeof healthSchema>;

/**
 * `POST /api/service/hand-over` (embedded service only): when the service makes way for a newer one. `later` means after the last
 * run; `never` is for a service that a person started.
 */
export const handOverReplySchema = z.object({ leaving: z.enum(["now", "later", "never"]) });

export type Leaving = z.infer<typeof handOverReplySchema>["leaving"];

/**
 * `GET /api/service` and `POST /api/service/stop` (embedded service only): the active runs and the number of waiting start
 * requests, of all orgs. The reply to a stop comes once these runs have ended.
 */
export const serviceStateSchema = z.object({
  startedAt: instant,
  runs: z.array(
    z.object({ runId: z.string(), pipeline: z.string(), project: z.string(), status: z.string() }),
  ),
  waiting: z.int().check(z.nonnegative()),
});

export type ServiceState = z.infer<typeof serviceStateSchema>;

/** The reply of `POST /api/sign-in-links`: a URL that signs a browser in once, until `expires-at`. */
export const signInLinkSchema = z.object({
  url: z.url({ protocol: /^https?$/ }),
  expiresAt: instant,
});

export type SignInLink = z.infer<typeof signInLinkSchema>;

/** The most bytes of a gzipped snapshot of a project's files. */
export const largestSnapshot = 64 * 1024 * 1024;
/** How long a snapshot's upload may take on a slow network, in seconds. */
export const snapshotSeconds = 300;

/** `PUT /api/snapshots/{digest}`: how much of the snapshot the service has. */
export const snapshotSchema = z.object({ digest: z.string(), bytes: z.int() });
