// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions as pipeline files write them.
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { join } from "node:path";
import { Listening } from "../listening.ts";
import { launchTestRun, pipelineOf, type TestRun } from "../runner/launch/launchTestRun.ts";
import { temporaryFolder } from "../temporaryFolder.ts";

/** What a hostile server replies with. */
const secrets = { token: 'tok-secret-"q"-42', pin: 987_654_321, key: "hdr-secret-77" };

function hostile(pwned: string) {
  return {
    token: secrets.token,
    nested: [{ pin: secrets.pin }],
    shell: `"; touch ${pwned}; $(touch ${pwned}) \`touch ${pwned}\``,
    path: "../../admin?x=1#y",
    host: "@evil.test/",
    lines: "a\r\nx-injected: yes",
    escape: "\u001b[31mred\u001b]0;title\u0007",
    sql: "1'); drop table orders;--",
    yaml: "a: { run: *b }\n- x",
    constructor: "own",
  };
}

describe("what a hostile reply is put into", () => {
  const folder = temporaryFolder();

  async function ran(...steps: readonly object[]) {
    const pwned = join(folder.path, "pwned");
    const server = createServer((request: IncomingMessage, response: ServerResponse) => {
      response.setHeader("x-key", secrets.key);
      response.setHeader("content-type", "application/json");
      const { url, headers } = request;
      response.statusCode = url === "/fails" ? 500 : 200;
      const isHostile = url === "/hostile" || url === "/fails";
      response.end(JSON.stringify(isHostile ? hostile(pwned) : { url, headers }));
    });
    await using service = await Listening.of(server);
    const pipeline = pipelineOf({
      resources: {
        shop: { type: "http", "base-url": service.origin },
        sh: { type: "cli" },
        db: { type: "sql", url: "sqlite::memory:" },
      },
      steps: [
        {
          id: "got",
          use: "shop",
          get: "/hostile",
          mask: ["json.token", "json.nested", "headers.x-key"],
        },
        ...steps,
      ],
      outputs: { token: "${{ steps.got.json.token }}", all: "${{ steps.got.json }}" },
    });
    const artifacts = join(folder.path, "artifacts");
    const run = launchTestRun(folder.path, pipeline, {}, artifacts);
    const end = await run.job.ended;
    assert.equal(existsSync(pwned), false, "a program has run");
    const kept = existsSync(artifacts)
      ? readdirSync(artifacts).map((name) => readFileSync(join(artifacts, name), "utf8"))
      : [];
    const shown = JSON.stringify([end, run.told, run.outputs, run.kept, kept]);
    const forms = [
      secrets.token,
      JSON.stringify(secrets.token).slice(1, -1),
      String(secrets.pin),
      secrets.key,
    ];
    for (const form of [...forms, Buffer.from(secrets.token).toString("base64").slice(0, -4)]) {
      for (const written of [form, JSON.stringify(form).slice(1, -1)])
        assert.equal(shown.includes(written), false, `${written} shows`);
    }
    return { end, log: logOf(run), messages: run.told.flatMap(({ step }) => step.message ?? []) };
  }

  it("runs no program: neither in a shell by its environment nor as an argument", async () => {
    const { end, log } = await ran(
      { use: "sh", env: { E: "${{ steps.got.json.shell }}" }, run: 'printf "%s" "$E" "${E}"' },
      { use: "sh", run: ["printf", "%s", "${{ steps.got.json.shell }}"] },
      { each: ["${{ steps.got.json.shell }}"], use: "sh", run: ["printf", "%s", "${{ each.value }}"] },
    );
    assert.equal(end.kind, "succeeded");
    assert.match(log, /\$\(touch /);
  });

  it("leads to no other path or host", async () => {
    const { end } = await ran({
      use: "shop",
      get: "/a/${{ steps.got.json.path }}/b${{ steps.got.json.host }}?q=${{ steps.got.json.path }}",
      expect: {
        that: "this.json.url == '/a/..%2F..%2Fadmin%3Fx=1%23y/b@evil.test%2F?q=..%2F..%2Fadmin%3Fx%3D1%23y'",
      },
    });
    assert.deepEqual(end, { kind: "succeeded" });
  });

  it("adds no header", async () => {
    const { messages } = await ran({
      use: "shop",
      get: "/x",
      headers: { a: "${{ steps.got.json.lines }}" },
    });
    assert.match(messages.join(), /the header `a` has a line break/);
  });

  it("changes no statement", async () => {
    const { end } = await ran(
      { use: "db", query: "create table orders (note text)" },
      { use: "db", query: "insert into orders values (?)", params: ["${{ steps.got.json.sql }}"] },
      { use: "db", query: "select note from orders", expect: { rows: [{ note: hostile("").sql }] } },
    );
    assert.deepEqual(end, { kind: "succeeded" });
  });

  it("is text in what is sent, and finds no key of a prototype", async () => {
    const { end } = await ran(
      { use: "shop", post: "/x", json: { "${{ steps.got.json.yaml }}": "${{ steps.got.json.yaml }}" } },
      {
        use: "sh",
        run: [
          "printf",
          "%s",
          "${{ exists(steps.got.json.toString) }} ${{ exists(steps.got.json['__proto__']) }} ${{ steps.got.json.constructor }}",
        ],
        expect: { output: "false false own" },
      },
    );
    assert.deepEqual(end, { kind: "succeeded" });
  });

  it("shows no secret of it: derived, in conditions, failures, retries and items", async () => {
    const { log } = await ran(
      {
        use: "sh",
        run: [
          "echo",
          "${{ base64(steps.got.json.token) }} ${{ toJSON(steps.got.json) }} ${{ url-encode(steps.got.json.token) }} ${{ steps.got.headers.x-key }}",
        ],
      },
      { each: "${{ steps.got.json.nested }}", use: "sh", run: ["echo", "${{ each.value.pin }}"] },
      {
        use: "shop",
        get: "/hostile",
        mask: ["json.token", "json.nested", "headers.x-key"],
        expect: { that: ["this.json.token == 'no'", "this.json.nested == this.headers.x-key"] },
        "on-failure": "continue",
      },
      {
        use: "shop",
        get: "/fails",
        mask: ["json.token", "json.nested", "headers.x-key"],
        retry: { times: 2, every: "1ms" },
        "on-failure": "continue",
      },
      {
        use: "db",
        query: "select ? as token",
        params: ["${{ steps.got.json.token }}"],
        expect: { rows: [{ token: "no" }] },
      },
    );
    assert.match(log, /\*\*\*/);
  });
});

function logOf({ outputs }: TestRun): string {
  return outputs.map(({ text }) => text).join("");
}
