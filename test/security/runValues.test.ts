// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions as pipeline files write them.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parsePipeline } from "../../src/pipeline/parsePipeline.ts";
import type { RunnerJob } from "../../src/runner/launch/protocol.ts";
import { LoopbackService, sendJson } from "../client/loopbackService.ts";
import { launchTestRun, newRunId, pipelineOf } from "../runner/launch/launchTestRun.ts";
import { temporaryFolder } from "../temporaryFolder.ts";

const token = "s3cr3tTok/en+Abc==xyz";

describe("what a value of a run can't become", () => {
  if (process.platform === "win32") return;
  const folder = temporaryFolder();
  const sh = { type: "cli" };

  async function ran(file: object, env: Record<string, string> = {}, more: Partial<RunnerJob> = {}) {
    const artifacts = join(folder.path, newRunId());
    const changes = { env: { ...process.env, ...env } };
    const run = launchTestRun(folder.path, pipelineOf(file), changes, artifacts, more);
    const end = await run.job.ended;
    const files = run.artifacts.map(({ file }) => readFileSync(join(artifacts, file), "utf8"));
    const log = run.outputs.map(({ text }) => text).join("");
    return { end, log, shown: JSON.stringify([end, run.told, log, run.kept, files]) };
  }

  it("a script or a statement: the file is refused", () => {
    const resources = { sh, db: { type: "sql", url: "sqlite::memory:" } };
    for (const value of [
      "inputs.x",
      "steps.a.stdout",
      "run.id",
      "each.value",
      "env.X",
      "format('{0}', inputs.x)",
    ]) {
      for (const step of [
        { use: "sh", run: `echo \${{ ${value} }}` },
        { use: "db", query: `select '\${{ ${value} }}'` },
        { use: "db", statements: [`select '\${{ ${value} }}'`] },
      ]) {
        const steps = [
          { id: "a", use: "sh", run: "true" },
          { each: [1], ...step },
        ];
        const file = JSON.stringify({ inputs: { x: "1" }, resources, steps });
        assert.equal(parsePipeline(file, "a.yaml").kind, value === "env.X" ? "valid" : "invalid", file);
      }
    }
  });

  it("another address", async () => {
    await using shop = await LoopbackService.listen((_, response) => sendJson(response, 200, {}));
    const resources = { shop: { type: "http", "base-url": `${shop.origin}/api` } };
    for (const x of ["..", ".", "%2e%2e", ".%2E", "..;", "..;/", "..;a=1"]) {
      const { end } = await ran(
        { inputs: { x: "" }, resources, steps: [{ use: "shop", get: "/orders/${{ inputs.x }}/items" }] },
        {},
        { inputs: { x } },
      );
      assert.equal(end.kind, "failed", x);
    }
    assert.equal(shop.asked.length, 0);
    const written = ["//evil.test/", "@evil.test", "/../admin", "?admin=1#x", "..\\admin", "a;b"];
    const inputs = Object.fromEntries(written.map((value, index) => [`x${index}`, value]));
    const steps = Object.keys(inputs).map((name) => ({ use: "shop", get: `/orders/\${{ inputs.${name} }}` }));
    const { end } = await ran({ inputs, resources, steps });
    assert.deepEqual(end, { kind: "succeeded" });
    assert.equal(shop.asked.length, written.length);
    for (const { path } of shop.asked) assert.match(path, /^\/api\/orders\/[^/?#\\]+$/);
  });

  it("what is shown of a secret variable, whatever an expression makes of it", async () => {
    const env = { X: token, J: JSON.stringify({ password: token }) };
    const encoded = [Buffer.from(token).toString("base64").slice(0, -4), encodeURIComponent(token)];
    const assertHidden = (shown: string, what: string) => {
      for (const form of [token, token.toUpperCase(), token.toLowerCase(), ...encoded])
        assert.ok(!shown.includes(form), what);
      assert.ok(shown.includes("***"), what);
    };
    const ofX = [
      "env.X",
      "env['X']",
      "format('-{0}-', env.X)",
      "base64(env.X)",
      "upper(env.X)",
      "lower(env.X)",
      "url-encode(env.X)",
      "toJSON(env.X)",
    ];
    const ofJ = "fromJSON(env.J).password";
    for (const source of [...ofX, ofJ]) {
      const value = `\${{ ${source} }}`;
      const steps = [
        { name: "a", use: "sh", run: ["echo", value], "on-failure": "continue", expect: { output: "none" } },
        { name: "b", use: "sh", run: "true", expect: { that: `${source} == 'none'` } },
      ];
      assertHidden((await ran({ resources: { sh }, steps }, env)).shown, source);
    }
    // A run for each variable: what the mask knows of one must not hide the other.
    for (const sources of [ofX, [ofJ]]) {
      const outputs = Object.fromEntries(sources.map((source, index) => [`x${index}`, `\${{ ${source} }}`]));
      const steps = [{ use: "sh", run: "true" }];
      assertHidden((await ran({ resources: { sh }, steps, outputs }, env)).shown, sources.join());
    }
  });

  it("what is shown of a value that `mask` names, however the step ends", async () => {
    await using shop = await LoopbackService.listen(({ path, headers }, response) => {
      if (path.startsWith("/echo")) return sendJson(response, 200, { got: headers.authorization, path });
      const body = JSON.stringify({
        token,
        again: Buffer.from(`me:${token}`).toString("base64"),
        text: `"${token}"`,
      });
      response.writeHead(200, { "content-type": "application/json", "x-token": token });
      if (path !== "/open") return void response.end(body.replaceAll("/", "\\/"));
      response.write(body.slice(0, -1));
      return undefined;
    });
    const masked = { id: "a", name: "a", use: "shop", get: "/login", mask: ["json.token"] };
    const unlike = { json: { token: "none" }, headers: { "x-token": "none" } };
    const printed = (text: string) => ({
      name: "a",
      use: "sh",
      env: { T: token },
      run: text,
      mask: ["json.t"],
    });
    const cases: Record<string, object[]> = {
      succeeded: [masked],
      failed: [{ ...masked, expect: unlike }],
      "without the member": [{ ...masked, mask: ["text"], expect: unlike }],
      "not ended": [{ ...masked, get: "/open", timeout: "300ms", expect: unlike }],
      retried: [{ ...masked, retry: { times: 2, every: "1ms" }, expect: unlike }],
      "of each": [
        { ...masked, each: [1, 2] },
        { name: "b", each: "${{ steps.a.*.json.token }}", use: "sh", run: ["echo", "${{ each.value }}"] },
      ],
      sent: [
        masked,
        {
          ...{ name: "b", use: "shop", get: "/echo/${{ steps.a.json.token }}" },
          headers: { authorization: "Bearer ${{ steps.a.json.token }}" },
          expect: { json: { got: "none" } },
        },
      ],
      printed: [printed(`echo "{\\"t\\": \\"$T\\"}"; echo "$T" >&2; exit 1`)],
      "printed, not as JSON": [printed(`echo "{\\"t\\": \\"$T\\""; exit 1`)],
      "printed later": [
        printed(`echo "{\\"t\\": \\"$T\\"}"; (sleep 0.3; echo "late $T") &`),
        { name: "b", use: "sh", run: "sleep 0.6" },
      ],
    };
    const resources = { sh, shop: { type: "http", "base-url": shop.origin } };
    for (const [how, steps] of Object.entries(cases)) {
      const { shown } = await ran({ resources, steps });
      const encoded = Buffer.from(token).toString("base64").slice(0, -4);
      for (const form of [token, token.replaceAll("/", "\\\\/"), encodeURIComponent(token), encoded])
        assert.ok(!shown.includes(form), `${how}: ${form}`);
      assert.ok(/\*\*\*|nothing that came is shown/.test(shown), how);
    }
  });

  it("a mask of so many lines that it would take minutes: nothing of the step is shown", async () => {
    const run = ["node", "-e", "for (let i = 0; i < 2000; i++) console.log('secret-line-' + i)"];
    const { log, end } = await ran({ resources: { sh }, steps: [{ use: "sh", run, mask: ["stdout"] }] });
    assert.deepEqual(end, { kind: "succeeded" });
    assert.match(log, /more than 1000 values or lines/);
    assert.ok(!log.includes("secret-line-1\n"));
  });
});
