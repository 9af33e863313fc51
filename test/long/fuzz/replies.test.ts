import assert from "node:assert/strict";
import { eventStream, serviceEvent } from "../../../src/client/follow/events.ts";
import { readRefusalObject } from "../../../src/client/foreignTool/foreignTool.ts";
import { ServiceClient } from "../../../src/client/service/client.ts";
import type { Fetch, FetchResponse } from "../../../src/client/service/request.ts";
import { describeError, errorTypes, PipelineError } from "../../../src/contract/errors.ts";
import { secondsToReset } from "../../../src/contract/limits.ts";
import { readRefusal, refusalMessage, refusalReport } from "../../../src/contract/refusal.ts";
import { systemClock } from "../../../src/machine/clock.ts";
import { controlCharacters } from "../../../src/text/controlCharacters.ts";
import { cut, holdsNear } from "../../near.ts";

describe("streams of events", () => {
  it("a stream has the same events however its bytes are cut and its lines end, and ends with one clear error", () =>
    holdsNear(
      {
        like: [
          'retry: 1000\n\nid: 1\nevent: log\ndata: {"sequence":1,"at":"2026-03-03T10:00:00Z","step-index":0,"stream":"stdout","text":"é😀\\n"}\n\nevent: end\ndata: {"run-id":"run_1","status":"succeeded"}\n\n',
          'event: org\ndata: {"org-id":"o","org-name":"n","tier":"free","limits":{"parallel-runs":1,"runs-per-day":50},"usage":{"runs-today":3},"actor":"k"}\n\n: here\n\n',
          "data: one\r\ndata: two\r\r\n: here\r\ndata\n\ndata:  three\n\nid: \0\ndata: x\n\n",
          "\u00ef\u00bb\u00bfevent: \u00c3\u00a9\ndata: \u00f0\u009f\u0098\u0080\n\n",
        ],
        words: [
          "data: ",
          "data:",
          "event: ",
          "event: log\n",
          "id: ",
          "retry: ",
          ": ",
          "\r\n",
          "\n\n",
          "\u00ef\u00bb\u00bf",
          "\u00f0\u009f",
          "\u0098\u0080",
        ],
        longest: 16 * 1024,
      },
      checkStream,
    ));
});

describe("replies of a service", () => {
  it("whatever a service answers becomes a value whose numbers it sent, or one error with words that can be shown and no key", () =>
    holdsNear(
      {
        like: [
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
        broke: ['429\n\n{"error":"\\udaaa","":""}'],
        longest: 32 * 1024,
      },
      checkReply,
    ));
});

describe("refusals", () => {
  it("a refusal is read from any reply of a refusing status, tells seconds of the service's or the caller's clock, and hints that a shell takes as they were meant", () =>
    holdsNear(
      {
        like: [
          '429\ndate: Tue, 03 Mar 2026 10:00:00 GMT\nretry-after: 4321\n\n{"error":{"type":"too-many-runs","message":"no","scope":"free-day"}}',
          '429\n\n{"error":"too-many-runs","scope":"org"}',
          '403\n\n{"type":"https://example.com/errors#too-many-runs","title":"free-day","status":403}',
          "429\nretry-after: 17\n\nfree-day",
          '429\n\n{"ok":false,"command":"run","error":{"type":"too-many-runs","message":"free-day 4321 s"},"hints":[{"command":"x run it\'s","doc":"retry after 4321 s"}],"warnings":[]}',
          '429\npipeline: -n it\'s $(x) `y` "z"\n\n{}',
        ],
        words: [
          "too-many-runs",
          "free-day",
          "scope",
          "retry-after: ",
          "date: ",
          "pipeline: ",
          " seconds",
          "4321 s",
        ],
        longest: 8 * 1024,
      },
      checkRefusal,
    ));
});

async function checkStream(input: string, lengths: readonly number[]): Promise<void> {
  const bytes = Buffer.from(input, "latin1");
  const whole = await readAll([bytes]);
  same(whole, await readAll(cut(bytes, lengths)));
  if (bytes.length <= 40) {
    for (let at = 1; at < bytes.length; at++) {
      same(whole, await readAll([bytes.subarray(0, at), bytes.subarray(at)]));
    }
  }
  if (!input.includes("\r")) {
    for (const end of ["\r\n", "\r"]) {
      const other = await readAll(cut(Buffer.from(input.replaceAll("\n", end), "latin1"), lengths));
      assert.deepEqual(other, whole, "a stream has the same events whatever its line ends");
    }
  }
  for (const { id, event, data } of whole) {
    try {
      serviceEvent({ apiKey: "prk_fuzz_0123456789abcdef" }, { id, event, data });
    } catch (error) {
      assert(
        error instanceof PipelineError && error.type === "breaks-contract",
        "an event that can't be read says so",
      );
    }
  }
}

function same(whole: unknown, other: unknown): void {
  assert.deepEqual(other, whole, "a stream has the same events however it is cut");
}

async function readAll(pieces: readonly Uint8Array[]) {
  const headers = new Map([["content-type", "text/event-stream"]]);
  const client = new ServiceClient({
    baseUrl: new URL("https://pipelines.example.com/"),
    apiKey: "prk_fuzz_0123456789abcdef",
    fetch: fetchOf({ status: 200, headers, body: "" }, pieces),
    clock: systemClock,
  });
  const messages: { id: string | undefined; event: string | undefined; data: string }[] = [];
  try {
    for await (const item of eventStream(client, "api/events", "own", {}, new AbortController().signal)) {
      if (item.kind === "message")
        messages.push({ id: item.message.id, event: item.message.event, data: item.message.data });
    }
  } catch (error) {
    assert(error instanceof PipelineError, "a stream ends with an error of ours");
  }
  return messages;
}

const apiKey = "prk_fuzz_0123456789abcdef";
const now = Date.parse("2026-03-03T10:00:00Z");
const run = `{"run-id":"run_1","pipeline":"nightly","project":"lamps","status":"running","actor":"key_1","runner":"here","created-at":"2026-03-03T10:00:00Z","time-limit-seconds":30,"steps":[{"name":"a","type":"cli","status":"failed","message":"no"}]}`;
const org = `{"org-id":"org_1","org-name":"lamps","tier":"free","limits":{"parallel-runs":1,"runs-per-day":50},"usage":{"runs-today":12},"actor":"key_1"}`;
const dated = "date: Tue, 03 Mar 2026 10:00:00 GMT\ncontent-type: application/json";

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
  (client, signal) => client.serviceState(signal),
  (client, signal) => client.stopService(signal),
  (client, signal) => client.health(signal),
  (client, signal) => client.start({ pipeline: "nightly" }, { waitSeconds: 0, idempotencyKey: "k" }, signal),
];

async function checkReply(input: string, lengths: readonly number[]): Promise<void> {
  const reply = readForeignReply(input);
  const bytes = Buffer.from(reply.body);
  const clock = { ...systemClock, now: () => now };
  const { signal } = new AbortController();
  for (const call of calls) {
    const outcomes = await Promise.all(
      [cut(bytes, lengths), [bytes]].map(async (pieces) => {
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
    assert.deepEqual(told(outcome), told(other), "a reply means the same however it is cut");
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

const hidden = new RegExp(`(?!\\n)[${controlCharacters}]`, "u");

function checkError(error: unknown): void {
  assert(error instanceof PipelineError, "a reply becomes an error of ours");
  const text = describeError(error);
  assert(Object.hasOwn(errorTypes, error.type), "an error is of a type that has an exit code");
  assert(error.message !== "", "an error has words");
  assert(!hidden.test(text), "an error's words can be shown");
  assert(text.isWellFormed(), "an error's words are whole characters");
  assert(!text.includes(apiKey), "an error never holds the key");
  assert(text.length < 60 * 410 + 1000, "an error is no longer than a screen or two");
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
    if (typeof part === "number") assert(serves(part), "a number that is told was sent");
    else if (typeof part === "string") {
      assert(!part.includes(apiKey), "no text of a reply holds the key");
      assert(!/(?![\n\t])[\p{Cc}\u202a-\u202e]/u.test(part), "no text of a reply drives a terminal");
    } else if (typeof part === "object" && part !== null) Object.values(part).forEach(walk);
  };
  walk(value);
}

/** Every number of the body as JSON writes one, which a number of the reply has to be. */
function numbersSent({ body }: ForeignReply): number[] {
  return [...body.matchAll(/-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g)].map(([text]) => Number(text));
}

function checkRefusal(input: string): void {
  const { status, headers, body } = readForeignReply(input);
  const refusal = readRefusal({ status, body, headers: { get: (name) => headers.get(name) ?? null } }, now);
  if (status < 400) assert(refusal === undefined, "a good reply is no refusal");
  if (status === 429) assert(refusal !== undefined, "every 429 is a refusal");
  const told = readRefusalObject(body, now);
  if (told.kind === "valid") {
    const { refusal: said } = told.value;
    const words = body.replaceAll(/\\u00(\w\w)/g, (_, code: string) =>
      String.fromCharCode(Number.parseInt(code, 16)),
    );
    if (said.scope === "free-day" && said.secondsToReset !== secondsToReset(now)) {
      assert(
        words.includes(String(said.secondsToReset)) || /\b0+\d/.test(words),
        "a tool's seconds are the ones it told",
      );
    }
  }
  if (refusal === undefined) return;
  if (refusal.scope === "free-day") {
    const served = Date.parse(headers.get("date") ?? "");
    const allowed = [
      Number.isNaN(served) ? secondsToReset(now) : secondsToReset(served),
      Number(headers.get("retry-after")),
    ];
    assert(allowed.includes(refusal.secondsToReset), "the seconds are those of a clock, or were sent");
  }
  const pipeline = headers.get("pipeline") ?? "nightly";
  const start = {
    pipeline,
    refusal,
    waitedSeconds: 0,
    options: ["--project", headers.get("project") ?? "a b"],
  };
  const { error, hints } = refusalReport(start, { ...start, waitedSeconds: 120 });
  assert(
    error.message.includes(refusal.scope) && refusalMessage(start) !== "",
    "the message names the scope",
  );
  for (const { command } of hints) {
    const words = shellWords(command);
    assert(words !== undefined && words[0] === "pipeline", "a hint is one command for a shell");
    assert(
      words[1] === "runs" || (words.includes(pipeline) && words.includes(start.options[1] ?? "")),
      "a hint names what was asked for",
    );
  }
}

/** A reply as an input tells it: a status, lines of headers, an empty line, and the body. */
interface ForeignReply {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

function readForeignReply(input: string): ForeignReply {
  const end = input.indexOf("\n\n");
  const [first = "", ...lines] = (end === -1 ? input : input.slice(0, end)).split("\n");
  const status = Number(/\d{3}/.exec(first)?.[0] ?? 200);
  const headers = new Map<string, string>();
  for (const line of lines) {
    const at = line.indexOf(":");
    if (at > 0) headers.set(line.slice(0, at).toLowerCase().trim(), line.slice(at + 1).trim());
  }
  return {
    status: Math.max(200, Math.min(599, status)),
    headers,
    body: end === -1 ? "" : input.slice(end + 2),
  };
}

/** A `fetch` that brings one reply, its body in pieces. */
function fetchOf({ status, headers }: ForeignReply, pieces: readonly Uint8Array[]): Fetch {
  return async (_, { signal }) => {
    signal.throwIfAborted();
    return answerOf(status, headers, pieces);
  };
}

function answerOf(
  status: number,
  headers: ReadonlyMap<string, string>,
  pieces: readonly Uint8Array[],
): FetchResponse {
  return {
    status,
    headers: { get: (name) => headers.get(name.toLowerCase()) ?? null },
    body: (async function* () {
      yield* pieces;
    })(),
  };
}

/**
 * The words of a command line as a POSIX shell takes them, of a line in which it finds nothing to do; undefined for a line
 * with something that it would obey.
 */
function shellWords(line: string): string[] | undefined {
  const words: string[] = [];
  let word: string | undefined;
  for (let at = 0; at < line.length; at++) {
    const letter = line.charAt(at);
    if (letter === "'") {
      const end = line.indexOf("'", at + 1);
      if (end === -1) return undefined;
      word = (word ?? "") + line.slice(at + 1, end);
      at = end;
    } else if (letter === "\\") {
      at += 1;
      if (at >= line.length || line.charAt(at) === "\n") return undefined;
      word = (word ?? "") + line.charAt(at);
    } else if (letter === " ") {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else if (/[\s"`$&|;<>()*?[\]{}#~!]/.test(letter)) {
      return undefined;
    } else {
      word = (word ?? "") + letter;
    }
  }
  return word === undefined ? words : [...words, word];
}
