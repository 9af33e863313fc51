// The load of the admission benchmark, in a process of its own.
import { randomUUID } from "node:crypto";
import autocannon from "autocannon";
import { answerCalls } from "../worker/answerCalls.ts";
import type { LoadCalls, Turn, TurnResult } from "./calls.ts";

answerCalls<LoadCalls>({ run }, () => process.exit());

async function run({ url, connections, seconds, path, keys, pipeline, status }: Turn): Promise<TurnResult> {
  let next = 0;
  const keyed = () => ({ "x-api-key": keys[next++ % keys.length] ?? "" });
  const result = await autocannon({
    url: url + path,
    connections,
    duration: seconds,
    requests: [
      pipeline === undefined
        ? {
            method: "GET",
            setupRequest: (request) => ({ ...request, headers: { ...request.headers, ...keyed() } }),
          }
        : {
            method: "POST",
            body: JSON.stringify({ pipeline, project: "bench" }),
            setupRequest: (request) => ({
              ...request,
              headers: {
                ...request.headers,
                ...keyed(),
                "content-type": "application/json",
                "idempotency-key": randomUUID(),
              },
            }),
          },
    ],
  });
  const wrong = Object.entries(result.statusCodeStats ?? {}).filter(([code]) => Number(code) !== status);
  if (wrong.length > 0 || result.errors > 0) {
    throw new Error(
      `${url}${path}: ${result.errors} errors, ${JSON.stringify(wrong)} where ${status} is right`,
    );
  }
  return {
    requests: result.requests.total,
    seconds: result.duration,
    medianMilliseconds: result.latency.p50,
    p99Milliseconds: result.latency.p99,
  };
}
