import type { Context } from "hono";
import { type EventStreamDeps, eventStream } from "../http/eventStream.ts";
import { findSession } from "../store/sessions.ts";
import type { PageDeps, PageEnv } from "./pageRequest.ts";

/** Says that the log has grown; the page then reads it. */
const logEvent = "event: log\ndata: \n\n";

/**
 * `GET /app/events`: the events of `GET /api/events` for a session and, with `?run=<id>`, also an event when that run's
 * log grows. The session is checked before each event and keep-alive comment, so a signed-out browser gets nothing.
 */
export function pageEvents(
  context: Context<PageEnv>,
  deps: Pick<PageDeps, "cookie" | "logs"> & EventStreamDeps,
): Response {
  const { db, clock, cookie, logs } = deps;
  const stream = eventStream(context, context.get("caller"), deps);
  const events = stream.body?.getReader();
  if (events === undefined) return stream;
  const id = cookie.read(context) ?? "";
  const grown = new GrownLog(logs, context.req.query("run"));
  const end = async () => {
    grown.stop();
    await events.cancel();
  };
  let reading: ReturnType<typeof events.read> | undefined;
  /** @returns undefined when the stream has to end. */
  const next = async (): Promise<Uint8Array | undefined> => {
    reading ??= events.read();
    const first = await Promise.race([reading, grown.untilGrown()]);
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
          // `cancel` isn't called for a stream that failed or was closed here.
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

/** Holds one pending event, however often the log grows until it is sent. */
class GrownLog {
  #hasGrown = false;
  #wake = () => {};
  readonly stop: () => void;

  constructor(logs: PageDeps["logs"], runId: string | undefined) {
    const onGrown = () => {
      this.#hasGrown = true;
      this.#wake();
    };
    this.stop = runId === undefined ? () => {} : logs.subscribe(runId, onGrown);
  }

  /** Resolves when the log has grown since the last `take`. May be called again before that. */
  untilGrown(): Promise<"grown"> {
    return new Promise((resolve) => {
      this.#wake = () => resolve("grown");
      if (this.#hasGrown) this.#wake();
    });
  }

  /** Marks the pending event as sent. */
  take(): void {
    this.#hasGrown = false;
  }
}
