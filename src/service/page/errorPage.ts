import type { Context } from "hono";
import { html } from "hono/html";
import { PipelineError } from "../../contract/errors.ts";
import { hideSecrets } from "../apiSecret.ts";
import { logFailure, routeOf } from "../http/everyRequest.ts";
import { statusOf } from "../http/reply.ts";
import { type Html, layout } from "./layout.ts";
import { type PageDeps, type PageEnv, startPath } from "./pageEnv.ts";

/** An error as a page, which never repeats a key that was sent in a wrong place; what isn't one of ours is told to the log and says nothing of the inside. */
export async function errorResponse(
  context: Context<PageEnv>,
  thrown: unknown,
  { assets, clock, log }: Pick<PageDeps, "assets" | "clock" | "log">,
): Promise<Response> {
  const { outgoing } = context.env;
  const request = {
    requestId: context.get("requestId"),
    method: context.req.method,
    route: routeOf(context),
  };
  logFailure(log, thrown, { ...request, callerLeft: outgoing.destroyed });
  const error =
    thrown instanceof PipelineError
      ? thrown
      : new PipelineError("internal", "The service failed at this page.");
  const parts = { title: titleOf(error.type), main: errorView(error), reader: undefined, now: clock.now() };
  return context.html(hideSecrets(await layout(parts, assets)), statusOf(error));
}

/** What went wrong, for people. */
function errorView({ type, message, next }: PipelineError): Html {
  return html`<h1>${titleOf(type)}</h1>
<p>${message} ${next}</p>
<p><a href="${startPath}">Back to the runs</a></p>`;
}

function titleOf(type: PipelineError["type"]): string {
  switch (type) {
    case "not-found":
      return "Not found";
    case "forbidden":
      return "Not allowed";
    default:
      return "That did not work";
  }
}
