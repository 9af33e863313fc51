import { parseConnection } from "../../../src/client/embedded/connectionFile.ts";
import { orgSchema } from "../../../src/contract/org.ts";
import { runSchema } from "../../../src/contract/run.ts";
import { fromWire, toWire } from "../../../src/contract/wire.ts";
import { must } from "../engine/broken.ts";
import type { Target } from "../engine/target.ts";

export const keptFilesTarget: Target = {
  name: "kept-files",
  property:
    "a file of a connection is read whole or not at all, names only this machine, and what is read is the same written and read again",
  covers: ["src/client/embedded/connectionFile.ts", "src/contract"],
  seeds: [
    '{"url":"http://127.0.0.1:4321","pid":12,"token":"prk_1","instance":"i1","version":"0.4.0"}',
    '{"org-id":"o","org-name":"n","tier":"free","limits":{"parallel-runs":1,"runs-per-day":50},"usage":{"runs-today":3},"actor":"k"}',
    '{"run-id":"run_1","pipeline":"a","project":"b","status":"failed","actor":"k","runner":"r","created-at":"2026-03-03T10:00:00Z","time-limit-seconds":30}',
  ],
  words: ["http://127.0.0.1:", ":65536", "@", "-a", "-A", "\\u0000"],
  longest: 8 * 1024,
  mostSteps: ({ length }) => 20_000 + length * 200,
  open: () => ({ check }),
};

function check(text: string): void {
  const connection = parseConnection(text);
  if (connection !== undefined) {
    const { hostname, port, username, pathname } = new URL(connection.url);
    must(
      hostname === "127.0.0.1" && username === "" && pathname === "/",
      "a connection leads to this machine only",
      () => connection,
    );
    must(
      Number.isSafeInteger(connection.pid) && connection.pid > 0 && port !== "0",
      "a connection's process and port can be one",
      () => connection,
    );
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return;
  }
  for (const read of [fromWire(orgSchema, value), fromWire(runSchema, value)]) {
    if (read.kind === "invalid") {
      must(
        read.problem !== "" && read.problem.length < 4000,
        "what is wrong is one sentence",
        () => read.problem,
      );
      continue;
    }
    const again = fromWire<unknown>(
      "tier" in read.value ? orgSchema : runSchema,
      JSON.parse(JSON.stringify(toWire(read.value))),
    );
    must(
      // JSON knows a -0, and JavaScript writes it as 0.
      again.kind === "valid" && JSON.stringify(again.value) === JSON.stringify(read.value),
      "a value of the wire is the same written and read again",
      () => ({ read, again }),
    );
  }
}
