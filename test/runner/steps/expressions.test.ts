// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions as pipeline files write them.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { LoopbackService, sendJson } from "../../client/loopbackService.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";
import { launchTestRun, pipelineOf, type TestRun } from "../launch/launchTestRun.ts";

/** All that is shown or kept of a run. */
function shownOf(run: TestRun, artifacts: string): string {
  let files: string[] = [];
  try {
    files = readdirSync(artifacts).map((name) => readFileSync(join(artifacts, name), "utf8"));
  } catch {}
  return JSON.stringify([run.told, run.outputs, run.artifacts, run.kept, files]);
}

describe("what a run's expressions find", () => {
  const folder = temporaryFolder();
  const resources = { sh: { type: "cli" }, db: { type: "sql", url: "sqlite::memory:" } };

  it("is the result of the steps before, whose types are kept where a value stands alone", async () => {
    await using shop = await LoopbackService.listen(({ path }, response) => {
      response.setHeader("x-key", "k1");
      response.setHeader("set-cookie", "session=s1; Path=/");
      if (path === "/orders")
        response.writeHead(201).end('{"id": 12345678901234567890, "lamps": ["a", "b"]}');
      else sendJson(response, 200, { ok: true });
    });
    const pipeline = pipelineOf({
      inputs: { lamps: 2, greeting: "${{ default(env.NONE, run.pipeline) }}" },
      resources: { ...resources, shop: { type: "http", "base-url": shop.origin } },
      steps: [
        {
          id: "order",
          use: "shop",
          post: "/orders",
          expect: { that: "length(this.json.lamps) == inputs.lamps" },
        },
        {
          use: "shop",
          post: "/paid/${{ steps.order.json.id }}",
          headers: { "x-echo": "${{ steps.order.headers.x-key }}-${{ steps.order.cookies.session }}" },
          json: {
            id: "${{ steps.order.json.id }}",
            status: "${{ steps.order.status }}",
            text: "no. ${{ steps.order.json.id }}: ${{ steps.order.json.lamps }}",
            "${{ steps.order.json.lamps[0] }}": "${{ inputs.greeting }}",
          },
        },
        {
          id: "rows",
          use: "db",
          query: "select ? as id, typeof(?) as type",
          params: ["${{ steps.order.json.lamps[1] }}", "${{ steps.order.status }}"],
          expect: { rows: [{ id: "${{ steps.order.json.lamps[1] }}", type: "integer" }] },
        },
        {
          id: "said",
          use: "sh",
          run: ["sh", "-c", 'echo "{\\"n\\": $1}"; echo oh >&2', "sh", "${{ steps.rows.row-count }}"],
          expect: {
            that: [
              "this.json.n == 1",
              "this.stderr == 'oh'",
              "this.exit-code == 0",
              "this.stdout == '{\"n\": 1}'",
            ],
          },
        },
      ],
      outputs: { all: ["${{ steps.said.outcome }}", "${{ steps.order.json.id }}", "${{ steps.rows.rows }}"] },
    });
    const run = launchTestRun(folder.path, pipeline);
    assert.deepEqual(await run.job.ended, { kind: "succeeded" });
    const [, paid] = shop.asked;
    assert.equal(paid?.path, "/paid/12345678901234567890");
    assert.equal(paid?.headers["x-echo"], "k1-s1");
    assert.equal(
      paid?.body,
      '{"id":12345678901234567890,"status":201,"text":"no. 12345678901234567890: [\\"a\\",\\"b\\"]","a":"test"}',
    );
    assert.deepEqual(run.kept, [
      { kind: "inputs", inputs: { lamps: 2, greeting: "test" } },
      {
        kind: "outputs",
        outputs: { all: ["succeeded", "12345678901234567890", [{ id: "b", type: "integer" }]] },
      },
    ]);
  });

  it("keeps its type where it stands alone in a block of YAML, which ends with a line end", async () => {
    const inputs = { n: 2 };
    const alone = "${{ inputs.n }}\n";
    const pipeline = pipelineOf({
      inputs,
      resources,
      steps: [
        {
          id: "typed",
          use: "db",
          query: "select typeof(?) as x",
          params: [alone],
          expect: { rows: [{ x: "integer" }] },
        },
        { each: "${{\n  fromJSON('[1, 2]')\n}}\n", use: "sh", run: ["echo", "${{ each.value }}"] },
      ],
      outputs: { n: alone, text: "${{ inputs.n }}\n\n", both: "${{ inputs.n }} ${{ inputs.n }}\n" },
    });
    const run = launchTestRun(folder.path, pipeline);
    assert.deepEqual(await run.job.ended, { kind: "succeeded" });
    assert.deepEqual(run.kept.at(-1), {
      kind: "outputs",
      outputs: { n: 2, text: "2\n\n", both: "2 2\n" },
    });
  });

  it("is never a part of a script, a statement, a path, a header or the file's structure", async () => {
    const nasty = "x'; drop table t; --\"$(touch pwned) ../../?a=b#c\r\nx-evil: 1\n${{ env.SECRET }}";
    await using shop = await LoopbackService.listen((_, response) =>
      sendJson(response, 200, { nasty, dots: "..", constructor: 7, __proto__: 1 }),
    );
    const steps = (more: object) =>
      pipelineOf({
        resources: { ...resources, shop: { type: "http", "base-url": shop.origin } },
        steps: [{ id: "a", use: "shop", get: "/" }, more],
      });
    const run = async (step: object) => {
      const one = launchTestRun(folder.path, steps(step), { env: { ...process.env, SECRET: "open-sesame" } });
      return { end: await one.job.ended, run: one };
    };
    const asParam = {
      use: "db",
      query: "select ? as x",
      params: ["${{ steps.a.json.nasty }}"],
      expect: { rows: [{ x: "${{ steps.a.json.nasty }}" }] },
    };
    assert.equal((await run(asParam)).end.kind, "succeeded");
    const asWord = {
      use: "sh",
      run: ["printf", "%s", "${{ steps.a.json.nasty }}"],
      expect: { that: "this.stdout != ''" },
    };
    const { end, run: printed } = await run(asWord);
    assert.equal(end.kind, "succeeded");
    assert.ok(!JSON.stringify(printed.outputs).includes("open-sesame"));
    assert.ok(!readdirSync(folder.path).includes("pwned"));
    assert.equal((await run({ use: "shop", get: "/x/${{ steps.a.json.nasty }}/y" })).end.kind, "succeeded");
    assert.match(shop.asked.at(-1)?.path ?? "", /^\/x\/[^/?#]*\/y$/);
    const up = await run({ use: "shop", get: "/x/${{ steps.a.json.dots }}/y" });
    assert.match(up.end.kind === "failed" ? up.end.message : "", /would make another path of it/);
    const header = await run({ use: "shop", get: "/", headers: { a: "${{ steps.a.json.nasty }}" } });
    assert.match(header.end.kind === "failed" ? header.end.message : "", /has a line break/);
    const constructed = await run({
      use: "sh",
      run: ["true"],
      expect: { that: "steps.a.json.toString == 1" },
    });
    assert.match(constructed.end.kind === "failed" ? constructed.end.message : "", /toString isn't there/);
  });

  it("is told with both sides where `that` doesn't hold, and masked", async () => {
    const pipeline = pipelineOf({
      inputs: { lamps: 2 },
      resources,
      steps: [
        {
          use: "sh",
          run: ["printf", '{"items": [1], "key": "%s"}', "${{ env.KEY }}"],
          expect: {
            that: ["length(this.json.items) == inputs.lamps", "this.json.key == 'no'", "this.json.none"],
          },
        },
      ],
    });
    const run = launchTestRun(folder.path, pipeline, { env: { ...process.env, KEY: "open-sesame" } });
    const end = await run.job.ended;
    assert.equal(
      end.kind === "failed" ? end.message.split("\n").slice(0, 3).join("\n") : "",
      'printf {"items": [1], "key": "%s"} ${{ env.KEY }}: length(this.json.items) == inputs.lamps: 1 and 2\nthis.json.key == \'no\': "***" and "no"\nthis.json.none isn\'t there; this.json has items, key',
    );
    assert.ok(!shownOf(run, "").includes("open-sesame"));
  });

  describe("that `mask` names", () => {
    const token = 'tok/en "1" & 2';

    it("is in no line, message, artifact or output, also of later steps", async () => {
      await using shop = await LoopbackService.listen(({ path }, response) =>
        path.startsWith("/login")
          ? sendJson(response, 200, { token, list: [{ pin: 482913 }, { pin: "zebra-9" }] })
          : sendJson(response, 500, { you: path }),
      );
      const artifacts = join(folder.path, "masked");
      const pipeline = pipelineOf({
        resources: { ...resources, shop: { type: "http", "base-url": shop.origin } },
        steps: [
          {
            id: "login",
            use: "shop",
            get: "/login",
            mask: ["json.token", "json.list"],
            "on-failure": "continue",
            expect: { text: "not there", that: "this.json.token == 'x'" },
          },
          {
            id: "printed",
            use: "sh",
            run: ["sh", "-c", 'echo "{\\"token\\": \\"$1\\"}"; echo "$1" >&2', "sh", "made-by-cli"],
            mask: ["json.token"],
          },
          { use: "sh", run: ["echo", "${{ steps.login.json.token }}", "${{ steps.printed.json.token }}"] },
          {
            use: "shop",
            get: "/echo/${{ steps.login.json.list[1].pin }}/${{ steps.login.json.list[0].pin }}",
          },
        ],
      });
      const run = launchTestRun(folder.path, pipeline, {}, artifacts);
      assert.equal((await run.job.ended).kind, "failed");
      const shown = shownOf(run, artifacts);
      for (const secret of [JSON.stringify(token).slice(1, -1), "482913", "zebra-9"]) {
        assert.ok(!shown.includes(secret), `${secret} in ${shown}`);
      }
      assert.ok(!shown.includes("made-by-cli"), shown);
      assert.match(shown, /GET http/);
    });

    it("and can't be told is shown with nothing around it", async () => {
      await using shop = await LoopbackService.listen((_, response) => response.end('{"token": "half-a-sec'));
      const artifacts = join(folder.path, "unread");
      const pipeline = pipelineOf({
        resources: { ...resources, shop: { type: "http", "base-url": shop.origin } },
        steps: [
          { id: "a", use: "shop", get: "/", mask: ["json.token"] },
          {
            id: "b",
            use: "sh",
            run: ["sh", "-c", 'printf \'{"token": "half-%s\' a-sec'],
            mask: ["json.token"],
            "on-failure": "continue",
            expect: { output: "none" },
          },
          { use: "sh", run: ["echo", "${{ steps.a.status }}", "${{ default(steps.a.text, 'x') }}"] },
        ],
      });
      const run = launchTestRun(folder.path, pipeline, {}, artifacts);
      const end = await run.job.ended;
      const shown = shownOf(run, artifacts);
      assert.ok(!shown.includes("half-a-sec"), shown);
      assert.equal(run.artifacts.length, 0);
      assert.match(JSON.stringify(run.told), /`text` isn't there/);
      assert.equal(end.kind, "failed");
    });
  });
});
