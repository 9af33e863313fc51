import type { HttpBindings } from "@hono/node-server";
import { createMiddleware } from "hono/factory";
import { PipelineError } from "../../contract/errors.ts";
import { mayChangeRuns } from "../../contract/role.ts";
import { type Caller, findCaller } from "../store/keys.ts";
import type { Database } from "../store/tables.ts";

export interface SignedIn {
  Bindings: HttpBindings;
  Variables: { readonly caller: Caller };
}

/** Lets a request in that carries a good key in `x-api-key`. */
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
