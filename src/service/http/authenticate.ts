import { createMiddleware } from "hono/factory";
import { PipelineError } from "../../contract/errors.ts";
import { mayChangeRuns, mayManageKeys, type Role } from "../../contract/roles.ts";
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

/** @throws PipelineError `forbidden` for a viewer. */
export function requireChange(caller: Caller): void {
  if (mayChangeRuns(caller.role)) return;
  throw new PipelineError(
    "forbidden",
    `A key of the role ${caller.role} can look, but not start or cancel runs.`,
  );
}

/** @throws PipelineError `forbidden` for anyone but an owner. */
export function requireOwner(role: Role): void {
  if (mayManageKeys(role)) return;
  throw new PipelineError("forbidden", `A key of the role ${role} can't make or revoke keys.`);
}

/** @throws PipelineError `forbidden` for any key but that of this machine's own faces. */
export function requireMachine({ keyId }: Caller, machineKeyId: string | undefined): void {
  if (keyId === machineKeyId) return;
  throw new PipelineError(
    "forbidden",
    "Only this machine's editor and terminal can look at the service itself or end it.",
    { next: "End it where it was started." },
  );
}

/** @throws PipelineError `forbidden` for a runner where none is meant, and for anyone else where one is. */
export function requireRunner(role: Role, isMeant: boolean): void {
  if ((role === "runner") === isMeant) return;
  throw new PipelineError(
    "forbidden",
    isMeant ? "Only a key of the role runner can do that." : "A key of the role runner can only take work.",
    { next: "`pipeline keys create --role …` makes one of another role." },
  );
}
