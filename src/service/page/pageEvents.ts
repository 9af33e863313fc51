import type { Context } from "hono";
import { type EventStreamDeps, eventStream } from "../http/eventStream.ts";
import { findSession } from "../store/sessions.ts";
import type { PageDeps, PageEnv } from "./pageRequest.ts";

/** That the log has grown; the page reads it itself. */
const logEvent = "event: log\ndata: \n\n";

/**
 * `GET /app/events`: what `GET /api/events` tells, for a session, and with `?run=<id>` also when that run's log grows, so
 * that a page needs one connection. The session is looked up again before each piece goes out, also before the comment
 * that breaks a silence: nothing is told to a browser that was signed out.
 */
export function pageEvents(
  context: Context<PageEnv>,
  deps: Pick<PageDeps, "cookie" | "logs"> & EventStreamDeps,
): Response {
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
  /** @returns undefined when nothing may be told any more. */
  const next = async (): Promise<Uint8Array | undefined> => {
    reading ??= told.read();
    const first = await Promise.race([reading, grown.there()]);
    if (first === "grown") grown.take();
    else reading = undefined;
    if (first !== "grown" && first.done) return undefined;
    if ((await findSession(db, id, clock.now())) === undefined) return undefined;
    return first === "grown" ? new TextEncoder().encode(logEvent) : first.value;
  };
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        let piece: Uint8Array | undefined;
        try {
          piece = await next();
        } finally {
          // Nobody cancels a stream that broke off or was closed from here.
          if (piece === undefined) await end();
        }
        if (piece === undefined) controller.close();
        else controller.enqueue(piece);
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  );
  return new Response(body, stream);
}

/** Remembers that a log has grown until that is told, however often it did. */
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

  /** Resolves when the log has grown. It may be asked again before: nothing is forgotten until it is taken. */
  there(): Promise<"grown"> {
    return new Promise((resolve) => {
      this.#wake = () => resolve("grown");
      if (this.#hasGrown) this.#wake();
    });
  }

  /** It is being told. */
  take(): void {
    this.#hasGrown = false;
  }
}
