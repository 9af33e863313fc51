import { isDeepStrictEqual } from "node:util";
import { systemClock } from "../../../src/client/clock.ts";
import { ServiceClient } from "../../../src/client/http/serviceClient.ts";
import { describeError, errorTypes, PipelineError } from "../../../src/contract/errors.ts";
import { unshown } from "../../../src/contract/unshown.ts";
import { must } from "../engine/broken.ts";
import type { Target } from "../engine/target.ts";
import { type ForeignReply, fetchOf, inPieces, readForeignReply } from "./foreignReply.ts";

const apiKey = "prk_fuzz_0123456789abcdef";
const now = Date.parse("2026-03-03T10:00:00Z");
const run = `{"run-id":"run_1","pipeline":"nightly","project":"lamps","status":"running","actor":"key_1","runner":"here","created-at":"2026-03-03T10:00:00Z","time-limit-seconds":30,"steps":[{"name":"a","type":"cli","status":"failed","message":"no"}]}`;
const org = `{"org-id":"org_1","org-name":"lamps","tier":"free","limits":{"parallel-runs":1,"runs-per-day":50},"usage":{"runs-today":12},"actor":"key_1"}`;
const dated = "date: Tue, 03 Mar 2026 10:00:00 GMT\ncontent-type: application/json";

export const serviceReplyTarget: Target = {
  name: "service-reply",
  property:
    "whatever a service answers becomes a value whose numbers it sent, or one error with words that can be shown and no key",
  covers: ["src/client/http", "src/contract"],
  seeds: [
    `200\n${dated}\n\n${org}`,
    `201\n${dated}\n\n${run}`,
    `200\n${dated}\n\n{"runs":[${run}],"next":"c1"}`,
    `200\n${dated}\n\n{"run-id":"run_1","status":"cancelling"}`,
    `200\n${dated}\n\n{"pipelines":[{"name":"a","project":"b","path":"pipelines/a.yaml","resource-types":["cli"],"problem":"a:1:1: no"}]}`,
    `200\n${dated}\n\n{"ok":true,"instance":"i1","url":"http://127.0.0.1:1/","leaving":"now"}`,
    `429\n${dated}\nretry-after: 4321\n\n{"error":{"type":"too-many-runs","message":"no","scope":"free-day"}}`,
    `429\n${dated}\n\n{"error":"too-many-runs","scope":"org"}`,
    `403\ncontent-type: application/problem+json\n\n{"type":"https://example.com/errors#too-many-runs","title":"free-day","status":403}`,
    `503\nretry-after: Tue, 03 Mar 2026 10:01:00 GMT\n\n<html>busy</html>`,
    `302\nlocation: https://example.com/sign-in?next=/api/org\n\n`,
    `400\n${dated}\n\n{"error":{"type":"invalid-request","message":"one\\ntwo"}}`,
    `401\n\n{"error":{"type":"unauthorized","message":"${apiKey} is no key"}}`,
  ],
  words: [
    apiKey,
    "retry-after: 99999999999999999999\n",
    "retry-after: -1\n",
    "date: \n",
    "location: //\n",
    "too-many-runs",
    "free-day",
  ],
  longest: 32 * 1024,
  mostSteps: ({ length }) => 60_000 + length * 800,
  open: () => ({ check }),
};

const calls: readonly ((client: ServiceClient, signal: AbortSignal) => Promise<unknown>)[] = [
  (client, signal) => client.org(signal),
  (client, signal) => client.orgAndTime(signal),
  (client, signal) => client.run("run_1", signal),
  (client, signal) => client.runs({}, signal),
  (client, signal) => client.cancel("run_1", signal),
  (client, signal) => client.pipelines("lamps", signal),
  (client, signal) => client.putProject("lamps", "/lamps", signal),
  (client, signal) => client.signInLink(signal),
  (client, signal) => client.handOver(signal, 1),
  (client, signal) => client.health(signal),
  (client, signal) => client.start({ pipeline: "nightly" }, { waitSeconds: 0, idempotencyKey: "k" }, signal),
];

async function check(input: string): Promise<void> {
  const reply = readForeignReply(input);
  const bytes = Buffer.from(reply.body);
  const clock = { ...systemClock, now: () => now };
  const { signal } = new AbortController();
  for (const call of calls) {
    const outcomes = await Promise.all(
      [inPieces(bytes), [bytes]].map(async (pieces) => {
        const client = new ServiceClient({
          baseUrl: new URL("https://pipelines.example.com/"),
          apiKey,
          fetch: fetchOf(reply, pieces),
          clock,
        });
        return outcomeOf(call(client, signal));
      }),
    );
    const [outcome, other] = outcomes;
    must(isDeepStrictEqual(told(outcome), told(other)), "a reply means the same however it is cut", () => ({
      outcome,
      other,
    }));
    if (outcome?.kind === "error") checkError(outcome.error);
    else checkValue(outcome?.value, reply);
  }
}

type Outcome =
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "error"; readonly error: unknown };

async function outcomeOf(promise: Promise<unknown>): Promise<Outcome> {
  try {
    return { kind: "value", value: await promise };
  } catch (error) {
    return { kind: "error", error };
  }
}

function told(outcome: Outcome | undefined): unknown {
  return outcome?.kind === "error" ? describeError(outcome.error) : outcome;
}

const hidden = new RegExp(`(?!\\n)[${unshown}]`, "u");

function checkError(error: unknown): void {
  must(error instanceof PipelineError, "a reply becomes an error of ours", () => error);
  const text = describeError(error);
  must(
    Object.hasOwn(errorTypes, error.type),
    "an error is of a type that has an exit code",
    () => error.type,
  );
  must(error.message !== "", "an error has words", () => error);
  must(!hidden.test(text), "an error's words can be shown", () => text);
  must(text.isWellFormed(), "an error's words are whole characters", () => text);
  must(!text.includes(apiKey), "an error never holds the key", () => text);
  must(text.length < 60 * 410 + 1000, "an error is no longer than a screen or two", () => text.length);
}

function checkValue(value: unknown, reply: ForeignReply): void {
  const isRefusal =
    typeof value === "object" && value !== null && "kind" in value && value.kind === "refused";
  const sent = new Set(numbersSent(reply));
  const serves = (number: number) =>
    sent.has(number) ||
    (isRefusal && Number.isInteger(number) && number >= 0 && number <= 99_999) ||
    number === Date.parse(reply.headers.get("date") ?? "");
  const walk = (part: unknown): void => {
    if (typeof part === "number")
      must(serves(part), "a number that is told was sent", () => ({ number: part, value }));
    else if (typeof part === "string") {
      must(!part.includes(apiKey), "no text of a reply holds the key", () => part);
      must(
        !/(?![\n\t])[\p{Cc}\u202a-\u202e]/u.test(part),
        "no text of a reply drives a terminal",
        () => part,
      );
    } else if (typeof part === "object" && part !== null) Object.values(part).forEach(walk);
  };
  walk(value);
}

/** Every number of the body as JSON writes one, which a number of the reply has to be. */
function numbersSent({ body }: ForeignReply): number[] {
  return [...body.matchAll(/-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g)].map(([text]) => Number(text));
}
