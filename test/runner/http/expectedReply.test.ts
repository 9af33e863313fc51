import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runHttpStep } from "../../../src/runner/http/runHttpStep.ts";
import { LoopbackService } from "../../client/loopbackService.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";
import { pipelineOf } from "../launch/launchTestRun.ts";
import { stepContextFor } from "../step/stepContextFor.ts";
import { messagesOf } from "./httpSteps.ts";

describe("what an http step expects of a reply", () => {
  const folder = temporaryFolder();

  /** Checks a reply by a schema. */
  async function checked(reply: string, schema: unknown): Promise<string | undefined> {
    await using server = await LoopbackService.listen((_, response) => response.end(reply));
    writeFileSync(join(folder.path, "a.json"), typeof schema === "string" ? schema : JSON.stringify(schema));
    const step = { get: "/", expect: { "json-schema": "a.json" } };
    const [said] = await messagesOf({ "base-url": server.origin }, [step], { root: folder.path });
    return said;
  }

  it("is a JSON Schema, of which it names each place and rule that doesn't fit", async () => {
    const item = {
      type: "object",
      required: ["name", "price"],
      additionalProperties: false,
      properties: {
        name: { type: ["string", "null"] },
        price: { type: "integer", minimum: 1 },
        size: { enum: ["s", "m"] },
        "odd name": { const: 1 },
        mail: { format: "email" },
        code: { pattern: "^[A-Z]+$" },
        kind: { anyOf: [{ const: "a" }, { const: "b" }] },
      },
    };
    const schema = { properties: { items: { type: "array", minItems: 3, items: item } } };
    const good = {
      name: null,
      price: 9007199254740993n,
      size: "s",
      "odd name": 1,
      mail: "a@b.test",
      code: "A",
    };
    const text = JSON.stringify({ items: [good, good, good] }, (_, value) =>
      typeof value === "bigint" ? JSON.rawJSON(String(value)) : value,
    );
    assert.equal(await checked(text, schema), undefined);
    assert.equal(
      await checked(
        JSON.stringify({
          items: [
            { name: 1, price: 0, size: "l", more: true },
            { "odd name": 2, mail: "nobody", code: "a", kind: "c", name: "x", price: 1.5 },
          ],
        }),
        schema,
      ),
      [
        '$.items: must not have fewer than 3 items, got [{"name":1,"price":0,"size":"l","more":true},{"odd name":2,"mail":"nobody","code":"a","kind":"c","name":"x","price":1.5}]',
        "$.items[0].more: this member isn't allowed",
        "$.items[0].name: expected a string or null, got 1",
        "$.items[0].price: must be >= 1, got 0",
        '$.items[0].size: expected one of ["s","m"], got "l"',
        "$.items[1].price: expected an integer, got 1.5",
        '$.items[1]["odd name"]: expected 1, got 2',
        '$.items[1].mail: must match format "email", got "nobody"',
        '$.items[1].code: must match pattern "^[A-Z]+$", got "a"',
        '$.items[1].kind: expected "a", got "c"',
        "and 2 more by `a.json`",
      ].join("\n"),
    );
    assert.equal(
      await checked("[{}]", { items: item }),
      "$[0].name: expected a value, got nothing\n$[0].price: expected a value, got nothing",
    );
    assert.match((await checked("no", schema)) ?? "", /^expected JSON, but the reply of \S+ isn't JSON: no$/);
    assert.equal(await checked("\ufeff\ufeff[]", { items: item }), undefined);
  });

  it("may be spread over schemas of the project, in any of three drafts", async () => {
    mkdirSync(join(folder.path, "sub"));
    const refer = { $ref: "sub/list.json#/$defs/names" };
    writeFileSync(
      join(folder.path, "sub/list.json"),
      JSON.stringify({ $defs: { names: { type: "array", items: { $ref: "name.json" } } } }),
    );
    writeFileSync(join(folder.path, "sub/name.json"), '{ "type": "string" }');
    assert.equal(await checked('["a"]', refer), undefined);
    assert.equal(await checked("[1]", refer), "$[0]: expected a string, got 1");
    const draft = (version: string, more: object) => ({
      $schema: `${version.includes("draft-") ? "http" : "https"}://json-schema.org/${version}/schema`,
      ...more,
    });
    // Each has its own word for a list whose items differ.
    for (const schema of [
      draft("draft-07", { items: [{ type: "string" }] }),
      draft("draft/2019-09", { items: [{ type: "string" }] }),
      draft("draft/2020-12", { prefixItems: [{ type: "string" }] }),
      { prefixItems: [{ type: "string" }] },
    ]) {
      assert.equal(await checked("[1]", schema), "$[0]: expected a string, got 1", JSON.stringify(schema));
    }
  });

  it("is told of a schema that can't be used, before anything is asked", async () => {
    for (const [schema, told] of [
      ["{", /^`a\.json` is no JSON: /],
      ["1", /^`a\.json` is no JSON Schema, which is a map, true or false$/],
      [{ type: "text" }, /^`a\.json` is no JSON Schema that can be used: schema is invalid: /],
      [{ $schema: "http://json-schema.org/draft-04/schema#" }, /names a draft that isn't known: it is 07, /],
      [{ $ref: "gone.json" }, /^`gone\.json` isn't in the project's folder/],
      [
        { $ref: "../../etc/passwd" },
        /^`(?:\.\.\/)*etc\/passwd` (?:isn't in|leads out of) the project's folder/,
      ],
      [{ $ref: "https://h.test/a.json" }, /can't resolve reference https:\/\/h\.test\/a\.json/],
    ] as const) {
      assert.match((await checked("{}", schema)) ?? "", told);
    }
  });

  it("isn't waited for without end where a schema's pattern takes too long", async () => {
    const said = await checked(JSON.stringify(`${"a".repeat(40)}!`), { pattern: "^(a+)+$" });
    assert.match(said ?? "", /^the reply can't be checked by `a\.json` within a second; /);
  });

  it("is the SHA-256 of its bytes, also of more than is kept of it", async () => {
    const piece = Buffer.alloc(1024 * 1024, "x");
    const pieces = 24;
    const hash = createHash("sha256");
    for (let count = 0; count < pieces; count += 1) hash.update(piece);
    const sha256 = hash.digest("hex");
    await using server = await LoopbackService.listen(async (_, response) => {
      for (let count = 0; count < pieces; count += 1)
        await new Promise((done) => response.write(piece, done));
      response.end();
    });
    const bytes = pieces * piece.length;
    const expect = { sha256: sha256.toUpperCase() };
    assert.deepEqual(
      await messagesOf({ "base-url": server.origin }, [
        { get: "/", expect },
        { get: "/", expect: { sha256: "0".repeat(64) } },
        { get: "/", expect: { ...expect, text: "x" } },
      ]),
      [
        undefined,
        `expected the SHA-256 ${"0".repeat(64)}, got ${sha256} of ${bytes} bytes`,
        "the reply is larger than 10 MB, the most that is looked at",
      ],
    );
  });

  it("is neither shown nor kept where the step says so, and can be read all the same", async () => {
    await using server = await LoopbackService.listen(({ path }, response) =>
      path === "/go"
        ? response.writeHead(302, { location: "/t0ken-in-a-path" }).end()
        : response.setHeader("x-a", "t0ken").end('{"token":"t0ken"}'),
    );
    const [step] = pipelineOf({
      resources: { s: { type: "http", "base-url": server.origin } },
      steps: [
        {
          use: "s",
          get: "/go",
          keep: false,
          expect: { status: 201, text: "x", json: { token: 1 }, headers: { "x-a": "b" } },
        },
      ],
    }).steps;
    assert.ok(step?.type === "http");
    const taken: unknown[] = [];
    const context = stepContextFor("/");
    const saved: string[] = [];
    const mask = context.stepContext.mask.ofStep();
    const outcome = await runHttpStep(step, {
      ...context.stepContext,
      mask,
      results: {
        isNeeded: true,
        isSecret: false,
        take: (make) => taken.push(make().values["json"]),
        problems: () => [],
      },
      saveArtifact: ({ content }) => void saved.push(String(content)),
    });
    assert.ok(outcome.kind === "failed");
    assert.equal(
      outcome.message,
      [
        "expected status 201, got 200 from ***",
        "the reply says: ***",
        "header x-a: expected `b`, got ***",
        "expected `x` in the reply, which says: ***",
        "$.token: expected ***, got ***",
      ].join("\n"),
    );
    assert.match(
      context.logged(),
      /^# GET http\S+\/go → 302, a redirect\n# GET \*\*\* → 200 in .*, 17 bytes\n$/,
    );
    assert.deepEqual([saved, mask.hidesAll], [[], true]);
    assert.deepEqual(taken, [{ token: "t0ken" }]);
  });
});
