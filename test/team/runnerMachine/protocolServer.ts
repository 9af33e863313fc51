import { LoopbackService, sendJson } from "../../client/loopbackService.ts";
import { runnerPath } from "../../service/programs.ts";
import { runRunner } from "../../service/testRunner.ts";

/** A request of the runner: what it was about, and its body as JSON. */
export interface Asked {
  readonly kind: "register" | "work" | "heartbeat" | "messages" | "artifact";
  readonly runId: string | undefined;
  readonly body: Record<string, unknown>;
}

type Answer = { readonly status: number; readonly body?: unknown } | "cut" | undefined;

/** The runner's endpoints of a service, whose every answer the test may replace: it holds no request, and takes all. */
export async function protocolServer(answer: (asked: Asked) => Answer | Promise<Answer> = () => undefined) {
  const asked: Asked[] = [];
  const work: unknown[] = [];
  /** The messages that were taken in, each once, by their run. */
  const messages = new Map<
    string,
    { readonly kind: string; readonly text?: string; readonly file?: string }[]
  >();
  const server = await LoopbackService.listen(async ({ path, body: text }, response) => {
    const parts = new URL(path, "http://x").pathname.split("/").slice(2);
    const kind = kindOf(parts);
    const body = kind === "artifact" ? { text } : JSON.parse(text);
    const ask: Asked = { kind, runId: parts[0] === "runs" ? parts[1] : undefined, body };
    asked.push(ask);
    const replaced = await answer(ask);
    // A reply that is cut is that of a request that was taken.
    const { status, body: reply } =
      replaced === undefined || replaced === "cut" ? await usual(ask) : replaced;
    if (replaced === "cut") return void response.destroy();
    sendJson(response, status, reply);
  });

  async function usual({ kind, runId = "", body }: Asked): Promise<{ status: number; body?: unknown }> {
    switch (kind) {
      case "register":
        return { status: 201, body: { "runner-id": "rnr_testrunner" } };
      case "work": {
        const next = work.shift();
        return next === undefined ? { status: 204 } : { status: 200, body: next };
      }
      case "heartbeat":
        return { status: 200, body: { stop: [], gone: [] } };
      case "messages": {
        const known = messages.get(runId) ?? [];
        messages.set(runId, known);
        const { first, messages: sent } = body;
        if (typeof first === "number" && Array.isArray(sent))
          known.push(...sent.slice(known.length + 1 - first));
        return { status: 200, body: { taken: known.length } };
      }
      case "artifact":
        return { status: 200, body: { taken: 0 } };
      default:
        return kind satisfies never;
    }
  }

  return {
    /** Without the slash at its end. */
    url: server.origin,
    asked,
    messages,
    /** Offers a run of shell steps. */
    offer(runId: string, ...lines: readonly string[]) {
      return this.offerFile(runId, { steps: lines.map((run) => ({ use: "sh", run })) });
    },
    offerFile(runId: string, file: object) {
      const text = JSON.stringify({ resources: { sh: { type: "cli" } }, ...file });
      const offered = {
        "run-id": runId,
        work: { path: "pipelines/test.yaml", text },
        "time-limit-seconds": 30,
        "lease-seconds": 20,
      };
      work.push(offered);
      return offered;
    },
    /** Runs a runner of it until one run is over, or the signal aborts. */
    run: (draining: AbortSignal, slots = 1, isOnce = true) =>
      runRunner({ url: `${server.origin}/`, apiKey: "key-of-tests" }, draining, {
        program: { execPath: process.execPath, runnerPath, env: process.env },
        ...{ slots, isOnce },
      }),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

function kindOf([first = "", , third = "", fourth]: readonly string[]): Asked["kind"] {
  if (fourth !== undefined) return "artifact";
  if (third === "work" || third === "heartbeat" || third === "messages") return third;
  if (first === "runners") return "register";
  throw new Error(`a runner has no business with ${first}/${third}`);
}
