import assert from "node:assert/strict";
import fc from "fast-check";
import { Output } from "../../src/cli/output.ts";
import type { Act } from "../../src/cli/perform.ts";
import { plainLine } from "../../src/cli/plainLine.ts";
import { createProgram } from "../../src/cli/program.ts";
import { ServiceClient } from "../../src/client/http/serviceClient.ts";

/** What the parser makes of a line. @returns undefined for wrong usage. */
async function parsed(line: readonly string[]) {
  let found: { command: string; flags: object; act: Act } | undefined;
  const program = createProgram({
    version: "1.0.0",
    env: {},
    line,
    perform: async (command, flags, act) => {
      found = { command, flags, act };
    },
  }).configureOutput({ writeErr: () => {}, writeOut: () => {} });
  await program.parseAsync(line, { from: "user" }).catch(() => {});
  return found;
}

/** What a command asks of a service. */
async function askedBy(act: Act): Promise<string[]> {
  const asked: string[] = [];
  const client = new ServiceClient({
    baseUrl: new URL("https://pipelines.example/"),
    apiKey: "key",
    fetch: async (url, { method }) => {
      asked.push(`${method} ${url.href}`);
      const body = url.pathname === "/api/org" ? org : { runs: [] };
      return {
        status: 200,
        headers: { get: () => null },
        body: (async function* () {
          yield Buffer.from(JSON.stringify(body));
        })(),
      };
    },
  });
  const { signal } = new AbortController();
  const stream = { write: () => true };
  const flags = { json: true, quiet: true, color: false };
  await act({
    output: new Output({ out: stream, err: stream, env: {}, flags }),
    env: {},
    folder: "/",
    interrupted: signal,
    leaving: signal,
    unread: signal,
    runnerPath: "",
    pageFolder: "",
    connect: async () => client,
  });
  return asked.sort();
}

const org = {
  "org-id": "org_1",
  "org-name": "An org",
  tier: "free",
  limits: { "parallel-runs": 1, "runs-per-day": 50 },
  usage: { "runs-today": 0 },
  actor: "key_1",
};

const flag = fc.constantFrom("--json", "-q", "--quiet", "--no-color");
const command = fc.constantFrom(["org"], ["runs", "list"]);

describe("a command line that needs no parser", () => {
  it("means the command and the flags that the parser makes of it, whatever their order", async () => {
    const line = fc
      .tuple(command, fc.array(fc.tuple(flag, fc.nat(2)), { maxLength: 4 }))
      .map(([words, flags]) => {
        const all: string[] = [...words];
        for (const [name, at] of flags) all.splice(at, 0, name);
        return all;
      });
    await fc.assert(
      fc.asyncProperty(line, async (words) => {
        const [plain, long] = [plainLine(words), await parsed(words)];
        assert.deepEqual([plain?.command, plain?.flags], [long?.command, long?.flags]);
        assert.notEqual(plain, undefined);
      }),
    );
  });

  it("asks the service for the same", async () => {
    for (const words of [["org"], ["runs", "list"]]) {
      const [plain, long] = [plainLine(words), await parsed(words)];
      assert(plain !== undefined && long !== undefined);
      const asked = await askedBy(plain.act);
      assert.notEqual(asked.length, 0);
      assert.deepEqual(asked, await askedBy(long.act));
    }
  });

  it("is no line with anything else in it: those are the parser's", () => {
    const others = [
      [],
      ["runs"],
      ["runs list"],
      ["list", "runs"],
      ["org", "org"],
      ["org", ""],
      ["org", "--help"],
      ["org", "--json=1"],
      ["org", "-qq"],
      ["org", "--"],
      ["runs", "list", "--limit", "3"],
      ["Org"],
      ["--version"],
    ];
    for (const words of others) assert.equal(plainLine(words), undefined, words.join(" "));
  });
});
