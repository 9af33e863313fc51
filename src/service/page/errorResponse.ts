import type { Context } from "hono";
import { PipelineError } from "../../contract/errors.ts";
import { hideSecrets } from "../apiSecret.ts";
import { statusOf } from "../http/answer.ts";
import { errorView, titleOf } from "./errorView.ts";
import { layout } from "./layout.ts";
import type { PageDeps } from "./pageEnv.ts";

/** An error as a page, which never repeats a key that was sent in a wrong place; what isn't one of ours is told to the log and says nothing of the inside. */
export async function errorResponse(
  context: Context,
  thrown: unknown,
  { assets, clock, log }: Pick<PageDeps, "assets" | "clock" | "log">,
): Promise<Response> {
  const isOurs = thrown instanceof PipelineError;
  if (!isOurs) log("error", "page failed", { path: context.req.path, error: thrown });
  const error = isOurs ? thrown : new PipelineError("internal", "The service failed at this page.");
  const parts = { title: titleOf(error.type), main: errorView(error), reader: undefined, now: clock.now() };
  return context.html(hideSecrets(await layout(parts, assets)), statusOf(error));
}
