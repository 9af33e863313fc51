import type { Context } from "hono";
import { eventStream } from "../http/eventStream.ts";
import { findSession } from "../store/sessions.ts";
import type { PageDeps, PageEnv } from "./pageEnv.ts";

/** That the log has grown; the page reads it itself. */
const logEvent = "event: log\ndata: \n\n";

/**
 * `GET /app/events`: what `GET /api/events` tells, for a session, and with `?run=<id>` also when that run's log grows, so
 * that a page needs one connection. The session is looked up again before each piece goes out, also before the comment
 * that breaks a silence: nothing is told to a browser that was signed out.
 */
export function pageEvents(context: Context<PageEnv>, deps: PageDeps): Response {
  const { db, clock, cookie, logs } = deps;
  const stream = eventStream(context, context.get("caller"), deps);
  const told = stream.body?.getReader();
  if (told === undefined) return stream;
  const id = cookie.read(context) ?? "";
  const grown = new GrownLog(logs, context.req.query("run"));
  const end = async () => {
    grown.stop();
    await told.cancel();
  };
  let reading: ReturnType<typeof told.read> | undefined;
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        reading ??= told.read();
        const piece = await Promise.race([reading, grown.next()]);
        if (piece !== "grown") reading = undefined;
        const isOver = piece !== "grown" && piece.done;
        if (isOver || (await findSession(db, id, clock.now())) === undefined) {
          await end();
          controller.close();
          return;
        }
        controller.enqueue(piece === "grown" ? new TextEncoder().encode(logEvent) : piece.value);
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  );
  return new Response(body, stream);
}

/** Remembers that a log has grown until that was told, however often it did. */
class GrownLog {
  #hasGrown = false;
  #wake = () => {};
  readonly stop: () => void;

  constructor(logs: PageDeps["logs"], runId: string | undefined) {
    const onGrown = () => {
      this.#hasGrown = true;
      this.#wake();
    };
    this.stop = runId === undefined ? () => {} : logs.listen(runId, onGrown);
  }

  next(): Promise<"grown"> {
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#hasGrown = false;
        resolve("grown");
      };
      if (this.#hasGrown) this.#wake();
    });
  }
}
