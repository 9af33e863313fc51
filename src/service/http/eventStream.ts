import { setImmediate } from "node:timers/promises";
import type { Context } from "hono";
import { toWire } from "../../contract/wire.ts";
import type { Change, Changes } from "../changes.ts";
import type { Clock } from "../clock.ts";
import type { Caller } from "../store/keys.ts";
import { readOrg } from "../store/orgs.ts";
import { listRuns, readRun } from "../store/runs.ts";
import type { Database } from "../store/tables.ts";

/** A comment after so much silence, in milliseconds, shows both ends that the other is there. */
const commentEvery = 15_000;

/** A reader that lets more than this stand unread, in bytes, is dropped; it comes back and gets the state anew. */
const mostUnread = 1024 * 1024;

interface StreamDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly changes: Changes;
}

/** `GET /api/events`: the org and its runs in work as they are, then each change as it comes. */
export function eventStream(context: Context, caller: Caller, deps: StreamDeps): Response {
  const { db, clock, changes } = deps;
  const pending: Change[] = [];
  let wake = () => {};
  let open = true;
  let sequence = 0;
  const stopListening = changes.listen(caller.orgId, (change) => {
    // One telling of a thing that waits already is enough: the state is read when it is sent.
    if (pending.some((other) => sameThing(other, change))) return;
    pending.push(change);
    wake();
  });
  const close = () => {
    open = false;
    stopListening();
    wake();
  };
  context.req.raw.signal.addEventListener("abort", close);

  const stateOf = async (change: Change): Promise<{ name: string; value: unknown } | undefined> => {
    if (change.kind === "org") return { name: "org", value: await readOrg(db, caller, clock.now()) };
    const run = await readRun(db, caller, change.runId);
    return run === undefined ? undefined : { name: "run", value: run };
  };

  const feed = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    const encoder = new TextEncoder();
    const send = (text: string) => controller.enqueue(encoder.encode(text));
    pending.unshift({ kind: "org" });
    const { runs } = await listRuns(db, caller.orgId, { status: "in-work", limit: 100 });
    for (const { runId } of runs) pending.push({ kind: "run", runId });
    send("retry: 1000\n\n");
    while (open) {
      const change = pending.shift();
      if (change !== undefined) {
        const state = await stateOf(change);
        sequence += 1;
        if (state !== undefined && open) {
          send(`id: ${sequence}\nevent: ${state.name}\ndata: ${JSON.stringify(toWire(state.value))}\n\n`);
        }
        if ((controller.desiredSize ?? 0) < -mostUnread) break;
        await setImmediate();
        continue;
      }
      await new Promise<void>((resolve) => {
        const stopTimer = clock.after(commentEvery, () => {
          if (open) send(": here\n\n");
          resolve();
        });
        wake = () => {
          stopTimer();
          resolve();
        };
      });
    }
  };

  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        void feed(controller)
          .catch((error: unknown) => controller.error(error))
          .then(() => {
            close();
            try {
              controller.close();
            } catch {
              // The reader had closed it already.
            }
          });
      },
      cancel: close,
    },
    new ByteLengthQueuingStrategy({ highWaterMark: 64 * 1024 }),
  );
  return context.body(body, 200, { "content-type": "text/event-stream", "cache-control": "no-store" });
}

function sameThing(a: Change, b: Change): boolean {
  return a.kind === "org" ? b.kind === "org" : b.kind === "run" && a.runId === b.runId;
}
