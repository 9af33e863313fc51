import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import fc from "fast-check";
import { followLog } from "../../../../src/client/follow/followLog.ts";
import { ended, started, startedService } from "../../../service/startedService.ts";

const never = new AbortController().signal;

/** What ends a line to some readers, and what is no text at all. */
const telling = fc.constantFrom(
  "\u2028",
  "\u2029",
  "\u0085",
  "\v",
  "\f",
  "\r",
  "\n",
  "\0",
  "\u001b[",
  '"',
  "\\",
  "&toString;",
);
const anyText = fc.array(fc.oneof(telling, fc.string({ unit: "binary" })), { minLength: 1 });
const text = anyText.map((parts) => parts.join("").toWellFormed());
const bytes = fc
  .array(
    fc.oneof(
      text.map((some) => Buffer.from(some)),
      fc.uint8Array({ minLength: 1 }),
    ),
    { minLength: 1 },
  )
  .map((parts) => Buffer.concat(parts));

describe("whatever a step prints or fetches", () => {
  it("comes whole through runner, log and HTTP, and the run ends as it should", async () => {
    // A run without a secret has nothing to search its output for.
    process.env["ANY_OUTPUT_SECRET"] = randomUUID();
    await using service = await startedService();
    const { client, secret } = await service.member();
    let body = Buffer.alloc(0);
    const site = createServer((_request, response) => response.end(body)).listen(0, "127.0.0.1");
    await once(site, "listening");
    const { port } = site.address() as AddressInfo;
    const file = join(service.project.root, "bytes");
    const print = `process.stdout.write(require("node:fs").readFileSync(${JSON.stringify(file)}))`;
    const artifact = async (runId: string, name = "") =>
      Buffer.from(
        await (
          await service.fetch(`/api/runs/${runId}/artifacts/${name}`, { headers: { "x-api-key": secret } })
        ).arrayBuffer(),
      );
    try {
      await fc.assert(
        fc.asyncProperty(bytes, bytes, text, async (printed, replied, someText) => {
          // A pipeline file may hold none.
          const value = someText.replaceAll("\0", "");
          body = replied;
          await writeFile(file, printed);
          const pipeline = {
            resources: {
              sh: { type: "cli" },
              web: { type: "http", "base-url": `http://127.0.0.1:${port}` },
              db: { type: "sql", url: "sqlite::memory:" },
            },
            steps: [
              {
                use: "sh",
                run: [process.execPath, "-e", print],
                env: { SECRET: `\${{ env.ANY_OUTPUT_SECRET }}` },
              },
              { use: "web", get: "/" },
              { use: "db", query: "select ? as value", params: [value], expect: { rows: [{ value }] } },
              { name: "fails", use: "web", get: "/", expect: { text: "/(?!)/" } },
            ],
          };
          await service.write("any", JSON.stringify(pipeline));
          const run = await ended(client, await started(client, "any", 60));
          assert.equal(run.status, "failed", run.reason);
          assert.deepEqual(
            run.steps?.map(({ status }) => status),
            ["succeeded", "succeeded", "succeeded", "failed"],
          );
          assert.equal(run.reason, `fails: ${run.steps?.[3]?.message}`);
          let log = "";
          await followLog(
            client,
            run.runId,
            { follow: false, onGap: () => assert.fail("the log has a gap") },
            (entry) => {
              if (entry.stream === "stdout") log += entry.text;
            },
            never,
          );
          assert.equal(log, new TextDecoder().decode(printed));
          // Of an empty reply nothing is kept; the reply of the step that failed is kept too.
          const replies = replied.length === 0 ? [] : [replied];
          const kept = await Promise.all((run.artifacts ?? []).map(({ file }) => artifact(run.runId, file)));
          assert.deepEqual(kept.toSpliced(replies.length, 1), [...replies, ...replies]);
          assert.deepEqual(JSON.parse(String(kept[replies.length])), [{ value }]);
        }),
        {
          numRuns: 8,
          endOnFailure: true,
          examples: [
            [Buffer.from("a\u2028b\n"), Buffer.from("a\u2028b"), "a\u2028\u2029b"],
            [Buffer.from("abc"), Buffer.alloc(0), "abc"],
            [Buffer.from("&toString;"), Buffer.from("&valueOf;"), "&__proto__;"],
          ],
        },
      );
    } finally {
      delete process.env["ANY_OUTPUT_SECRET"];
      site.close();
      site.closeAllConnections();
    }
  });
});
