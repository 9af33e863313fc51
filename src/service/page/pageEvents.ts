import type { Context } from "hono";
import { eventStream } from "../http/eventStream.ts";
import { findSession } from "../store/sessions.ts";
import type { PageDeps, PageEnv } from "./pageEnv.ts";

/**
 * `GET /app/events`: what `GET /api/events` tells, for a session. It is asked for again before each piece goes out,
 * also before the comment that breaks a silence, so that nothing is told to a browser that was signed out.
 */
export function pageEvents(context: Context<PageEnv>, deps: PageDeps): Response {
  const { db, clock, cookie } = deps;
  const { caller } = context.get("session");
  const id = cookie.read(context) ?? "";
  const stream = eventStream(context, caller, deps);
  const checked = stream.body?.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      async transform(chunk, controller) {
        if ((await findSession(db, id, clock.now())) === undefined) controller.terminate();
        else controller.enqueue(chunk);
      },
    }),
  );
  return new Response(checked ?? null, stream);
}
