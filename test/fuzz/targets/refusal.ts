import { readRefusalObject } from "../../../src/client/tool/refusalObject.ts";
import { secondsToReset } from "../../../src/contract/day.ts";
import { readRefusal, refusalMessage, refusalReport } from "../../../src/contract/refusal.ts";
import { must } from "../engine/broken.ts";
import type { Target } from "../engine/target.ts";
import { readForeignReply } from "./foreignReply.ts";
import { shellWords } from "./shellWords.ts";

const now = Date.parse("2026-03-03T10:00:00Z");

export const refusalTarget: Target = {
  name: "refusal",
  property:
    "a refusal is read from any reply of a refusing status, tells seconds of the service's or the caller's clock, and hints that a shell takes as they were meant",
  covers: ["src/contract/refusal.ts", "src/contract/wire.ts", "src/client/tool/refusalObject.ts"],
  seeds: [
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
  mostSteps: ({ length }) => 20_000 + length * 200,
  open: () => ({ check }),
};

function check(input: string): void {
  const { status, headers, body } = readForeignReply(input);
  const date = headers.get("date");
  const refusal = readRefusal({ status, body, date, retryAfter: headers.get("retry-after") }, now);
  if (status < 400) must(refusal === undefined, "a good reply is no refusal", () => refusal);
  if (status === 429) must(refusal !== undefined, "every 429 is a refusal", () => body);
  const told = readRefusalObject(body, now);
  if (told.kind === "valid") {
    const { refusal: said } = told.value;
    const words = body.replaceAll(/\\u00(\w\w)/g, (_, code: string) =>
      String.fromCharCode(Number.parseInt(code, 16)),
    );
    if (said.scope === "free-day" && said.secondsToReset !== secondsToReset(now)) {
      must(
        words.includes(String(said.secondsToReset)) || /\b0+\d/.test(words),
        "a tool's seconds are the ones it told",
        () => said,
      );
    }
  }
  if (refusal === undefined) return;
  if (refusal.scope === "free-day") {
    const served = Date.parse(date ?? "");
    const allowed = [
      Number.isNaN(served) ? secondsToReset(now) : secondsToReset(served),
      Number(headers.get("retry-after")),
    ];
    must(allowed.includes(refusal.secondsToReset), "the seconds are those of a clock, or were sent", () => ({
      refusal,
      allowed,
    }));
  }
  const pipeline = headers.get("pipeline") ?? "nightly";
  const start = {
    pipeline,
    refusal,
    waitedSeconds: 0,
    options: ["--project", headers.get("project") ?? "a b"],
  };
  const { error, hints } = refusalReport(start, { ...start, waitedSeconds: 120 });
  must(
    error.message.includes(refusal.scope) && refusalMessage(start) !== "",
    "the message names the scope",
    () => error,
  );
  for (const { command } of hints) {
    const words = shellWords(command);
    must(words !== undefined && words[0] === "pipeline", "a hint is one command for a shell", () => command);
    must(
      words[1] === "runs" || (words.includes(pipeline) && words.includes(start.options[1] ?? "")),
      "a hint names what was asked for",
      () => ({ command, words }),
    );
  }
}
