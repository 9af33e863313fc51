import { createMiddleware } from "hono/factory";
import { PipelineError } from "../../contract/errors.ts";
import { mayChangeRuns, mayManageKeys } from "../../contract/keys.ts";
import { type Caller, findCaller } from "../store/keys.ts";
import type { Database } from "../store/tables.ts";
import type { AppEnv } from "./everyRequest.ts";

/** The context of a route that needs a key. */
export interface SignedIn extends AppEnv {
  Variables: AppEnv["Variables"] & { readonly caller: Caller };
}

/** Admits a request with a valid key in `x-api-key`; a key anywhere else doesn't count. */
export function authenticate(db: Database) {
  return createMiddleware<SignedIn>(async (context, next) => {
    const secret = context.req.header("x-api-key");
    if (secret === undefined || secret === "") {
      throw new PipelineError("unauthorized", "The request carries no API key.", {
        next: "Send one in the header x-api-key.",
      });
    }
    const caller = await findCaller(db, secret);
    if (caller === undefined) {
      throw new PipelineError("unauthorized", "The API key is not one of this service's, or it was revoked.");
    }
    context.set("caller", caller);
    context.get("open").keyId = caller.keyId;
    await next();
  });
}

/** `open` needs no key; `members` excludes viewers; `this machine` is its faces' own key; a runner's key has `runners` only. */
export type Access = "open" | "every role" | "members" | "owners" | "this machine" | "runners";

/**
 * @param machineKeyId the id of the key that this machine's own faces use, where there is one.
 * @throws PipelineError `forbidden`.
 */
export function requireAccess(access: Access, caller: Caller, machineKeyId?: string): void {
  if (access === "open") return;
  const [message, options] = whyForbidden(access, caller, machineKeyId) ?? [];
  if (message !== undefined) throw new PipelineError("forbidden", message, options);
}

function whyForbidden(
  access: Access,
  { role, keyId }: Caller,
  machineKeyId: string | undefined,
): readonly [message: string, options?: { readonly next: string }] | undefined {
  if ((role === "runner") !== (access === "runners")) {
    const only =
      role === "runner"
        ? "A key of the role runner can only take work."
        : "Only a key of the role runner can do that.";
    return [only, { next: "`pipeline keys create --role …` makes one of another role." }];
  }
  if (access === "members" && !mayChangeRuns(role))
    return [`A key of the role ${role} can look, but not start or cancel runs.`];
  if (access === "owners" && !mayManageKeys(role))
    return [`A key of the role ${role} can't make or revoke keys.`];
  if (access !== "this machine" || keyId === machineKeyId) return undefined;
  const next = "End it where it was started.";
  return ["Only this machine's editor and terminal can look at the service itself or end it.", { next }];
}
