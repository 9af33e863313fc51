import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import { LoopbackService } from "../../client/loopbackService.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";
import { messagesOf } from "./httpSteps.ts";

const json = (schema: object) => ({ content: { "application/json": { schema } } });
const lamp = { $ref: "#/components/schemas/Lamp" };
const shared = { info: { title: "Shop", version: "1" }, servers: [{ url: "https://shop.example/v1/" }] };
const paths = {
  "/lamps/{id}": {
    parameters: [{ name: "id", in: "path", required: true, schema: { type: "integer" } }],
    get: {
      parameters: [
        { name: "sort", in: "query", schema: { type: "string", enum: ["price", "name"] } },
        { name: "tag", in: "query", schema: { type: "array", items: { type: "string", maxLength: 3 } } },
        { name: "X-Shop", in: "header", required: true, schema: { type: "string" } },
        { name: "session", in: "cookie", required: true, schema: { type: "string" } },
      ],
      responses: {
        200: { description: "", headers: { "X-Count": { schema: { type: "integer" } } }, ...json(lamp) },
        "4XX": {
          description: "",
          content: { "application/problem+json": { schema: { type: "object", required: ["title"] } } },
        },
      },
    },
  },
  "/lamps": {
    post: {
      requestBody: { required: true, ...json(lamp) },
      responses: { 201: { description: "" }, 400: { description: "" } },
    },
    put: {
      requestBody: { required: true, content: { "multipart/form-data": { schema: { type: "object" } } } },
      responses: { default: { description: "" } },
    },
  },
};
/** The same document in both versions: a lamp has a name or none, a price above 0, and other lamps. */
const documents = [
  {
    openapi: "3.0.3",
    properties: {
      name: { type: "string", nullable: true },
      price: { type: "number", format: "double", minimum: 0, exclusiveMinimum: true },
    },
  },
  {
    openapi: "3.1.0",
    properties: {
      name: { type: ["string", "null"] },
      price: { type: "number", format: "double", exclusiveMinimum: 0 },
    },
  },
].map(({ openapi, properties }) => {
  const others = { type: "array", items: lamp };
  const schema = { type: "object", required: ["name"], properties: { ...properties, others } };
  return { openapi, ...shared, paths, components: { schemas: { Lamp: schema } } };
});

describe("an http step of a resource with an OpenAPI document", () => {
  const folder = temporaryFolder();
  const server = (status: number, body: unknown, type = "application/json") =>
    LoopbackService.listen((_, response) =>
      response.writeHead(status, { "content-type": type, "x-count": "7" }).end(JSON.stringify(body)),
    );

  /** @returns what is said of each step, and how many requests were sent. */
  async function ask(asked: LoopbackService, document: unknown, ...steps: object[]) {
    writeFileSync(
      join(folder.path, "api.yaml"),
      typeof document === "string" ? document : stringify(document),
    );
    const resource = { "base-url": `${asked.origin}/staging`, openapi: "api.yaml" };
    return messagesOf(resource, steps, { root: folder.path });
  }

  for (const document of documents) {
    it(`sends what fits it, and takes what fits it: ${document.openapi}`, async () => {
      await using asked = await server(200, { name: null, price: 1.5, others: [{ name: "x" }] });
      const headers = { "x-shop": "a" };
      const said = await ask(
        asked,
        document,
        { get: "/lamps/7", query: { sort: "name", tag: ["a", "b"] }, headers },
        { get: "/lamps/7?tag=a", headers },
        { get: `${asked.origin}/v1/lamps/7`, headers },
        { put: "/lamps", multipart: { a: "b" } },
      );
      assert.deepEqual(said, [undefined, undefined, undefined, undefined]);
      await using other = await server(201, "");
      const json = { name: null, others: [{ name: "x", price: 1 }] };
      assert.deepEqual(await ask(other, document, { post: "/lamps", json }), [undefined]);
    });

    it(`sends nothing that doesn't fit it, unless the step says so: ${document.openapi}`, async () => {
      await using asked = await server(400, "");
      const said = await ask(
        asked,
        document,
        { get: "/lamps/x?sort=size&tag=long&more=1" },
        { post: "/lamps", json: { price: 0, others: [{ name: 1 }] } },
        { post: "/lamps" },
        { post: "/prices" },
        { delete: "/lamps" },
        { post: "/lamps", body: "{", headers: { "content-type": "application/json" } },
        { post: "/lamps", form: { name: "x" } },
      );
      assert.deepEqual(said, [
        [
          '`api.yaml`: request.path.id: expected an integer, got "x"',
          "`api.yaml`: request.query.more: this member isn't allowed",
          '`api.yaml`: request.query.sort: expected one of ["price","name"], got "size"',
          '`api.yaml`: request.query.tag[0]: must not have more than 3 characters, got "long"',
          '`api.yaml`: request.header["x-shop"]: expected a value, got nothing',
        ].join("\n"),
        [
          "`api.yaml`: request.name: expected a value, got nothing",
          "`api.yaml`: request.price: must be > 0, got 0",
          "`api.yaml`: request.others[0].name: expected a string or null, got 1",
        ].join("\n"),
        "`api.yaml`: request: expected a body, got nothing",
        "`api.yaml` has no POST /staging/prices",
        "`api.yaml` has no DELETE /staging/lamps",
        "`api.yaml`: request: expected JSON, as its type says",
        "`api.yaml`: request: no body of type application/x-www-form-urlencoded is known; it is application/json",
      ]);
      assert.equal(asked.asked.length, 0);
      const expect = { status: 400 };
      const asItIs = { post: "/lamps", json: { price: 0 }, expect };
      assert.deepEqual(
        await ask(
          asked,
          document,
          { ...asItIs, openapi: "reply" },
          { post: "/prices", expect, openapi: false },
          { get: `${asked.origin.replace("127.0.0.1", "localhost")}/prices`, expect },
        ),
        [undefined, undefined, undefined],
      );
    });

    it(`names what of a reply doesn't fit it: ${document.openapi}`, async () => {
      const step = { get: "/lamps/7", headers: { "x-shop": "a" }, openapi: "reply" };
      for (const [status, body, type, told] of [
        [
          200,
          { name: 1 },
          "application/json",
          /^`api\.yaml`: reply\.name: expected a string or null, got 1$/,
        ],
        [
          200,
          { name: "x", others: [{}] },
          "application/json; charset=utf-8",
          /^`api\.yaml`: reply\.others\[0\]\.name: expected a value/,
        ],
        [
          418,
          { detail: "" },
          "application/problem+json",
          /^`api\.yaml`: reply\.title: expected a value, got nothing$/,
        ],
        [
          200,
          "<p>",
          "text/html",
          /^`api\.yaml`: reply: no body of type text\/html is known; it is application\/json$/,
        ],
        [204, "", "text/plain", /^`api\.yaml` has no status 204 of GET \/lamps\/\{id\}; it has 200, 4XX$/],
      ] as const) {
        await using asked = await server(status, body, type);
        const [said] = await ask(asked, document, { ...step, expect: { status } });
        assert.match(said ?? "", told);
      }
    });
  }

  it("may have one of Swagger 2.0, in JSON", async () => {
    const swagger = {
      swagger: "2.0",
      info: { title: "Shop", version: "1" },
      basePath: "/v1",
      paths: {
        "/lamps": {
          post: {
            consumes: ["application/json"],
            parameters: [
              { in: "body", name: "lamp", required: true, schema: { $ref: "#/definitions/Lamp" } },
            ],
            responses: { 200: { description: "", schema: { $ref: "#/definitions/Lamp" } } },
          },
        },
      },
      definitions: { Lamp: { type: "object", properties: { price: { type: "number" } } } },
    };
    await using asked = await server(200, { price: "1" });
    assert.deepEqual(
      await ask(
        asked,
        JSON.stringify(swagger),
        { post: "/lamps", json: { price: "2" } },
        { post: "/lamps", json: { price: 2 } },
      ),
      [
        '`api.yaml`: request.price: expected a number, got "2"',
        '`api.yaml`: reply.price: expected a number, got "1"',
      ],
    );
  });

  it("sends no member that only replies have, and misses none that only requests have", async () => {
    const id = { type: "integer", readOnly: true };
    const user = {
      type: "object",
      required: ["id", "key", "name", "password"],
      properties: {
        id,
        key: { $ref: "#/components/schemas/Key" },
        name: { type: "string" },
        password: { type: "string", writeOnly: true },
      },
    };
    const document = {
      openapi: "3.0.3",
      paths: {
        "/users": {
          post: {
            requestBody: json({ $ref: "#/components/schemas/User" }),
            responses: { 200: { description: "", ...json({ $ref: "#/components/schemas/User" }) } },
          },
        },
      },
      components: { schemas: { User: user, Key: { type: "string", readOnly: true } } },
    };
    await using asked = await server(200, { id: 7, key: "k", name: "Ada" });
    const complete = { name: "Ada", password: "x" };
    await using other = await server(200, { name: "Ada" });
    assert.deepEqual(
      [
        ...(await ask(
          asked,
          document,
          { post: "/users", json: complete },
          { post: "/users", json: { name: "Ada" } },
        )),
        ...(await ask(other, document, { post: "/users", json: complete })),
      ],
      [
        undefined,
        "`api.yaml`: request.password: expected a value, got nothing",
        "`api.yaml`: reply.id: expected a value, got nothing\n`api.yaml`: reply.key: expected a value, got nothing",
      ],
    );
  });

  it("takes null for what is nullable and has others instead of a type", async () => {
    const schemas = [{ type: "object", required: ["name"] }];
    const bodies = [
      [null, undefined],
      [{ name: "x" }, undefined],
      [{}, /reply\.name: expected a value, got nothing/],
    ] as const;
    for (const [body, told, others] of bodies.flatMap((one) => [
      [...one, { oneOf: schemas }] as const,
      [...one, { allOf: [...schemas, { minProperties: 1 }] }] as const,
    ])) {
      const get = { responses: { 200: { description: "", ...json({ nullable: true, ...others }) } } };
      const document = { openapi: "3.0.3", paths: { "/lamp": { get } } };
      await using asked = await server(200, body);
      const [said] = await ask(asked, document, { get: "/lamp" });
      if (told === undefined) assert.equal(said, undefined);
      else assert.match(said ?? "", told);
    }
  });

  it("takes one value and several for a list that may be left out", async () => {
    await using asked = await server(200, {});
    const texts = { type: "array", items: { type: "string", maxLength: 3 } };
    const parameters = [
      { name: "q", in: "query", schema: { anyOf: [texts, { type: "null" }] } },
      { name: "either", in: "query", schema: { oneOf: [{ type: "string" }, texts] } },
    ];
    const get = { parameters, responses: { 200: { description: "" } } };
    const said = await ask(
      asked,
      { openapi: "3.1.0", paths: { "/a": { get } } },
      { get: "/a", query: { q: "one" } },
      { get: "/a", query: { q: ["one", "two"], either: "a long text" } },
      { get: "/a", query: { either: ["one", "two"] } },
      { get: "/a", query: { q: "long" } },
    );
    assert.deepEqual(said.slice(0, 3), [undefined, undefined, undefined]);
    assert.match(said[3] ?? "", /request\.query\.q\[0\]: must not have more than 3 characters/);
  });

  it("takes lists apart as the style of a parameter says, in the path and in headers too", async () => {
    await using asked = await server(200, {});
    const schema = { type: "array", items: { type: "integer", maximum: 9 }, minItems: 2 };
    const parameters = [
      { name: "ids", in: "path", required: true, schema },
      { name: "at", in: "path", required: true, style: "matrix", schema },
      { name: "X-Ids", in: "header", schema },
      { name: "pipes", in: "query", style: "pipeDelimited", schema },
      { name: "spaces", in: "query", style: "spaceDelimited", explode: false, schema },
      { name: "repeated", in: "query", style: "pipeDelimited", explode: true, schema },
    ];
    const get = { parameters, responses: { 200: { description: "" } } };
    const path = "/a/1,2/;at=3,4";
    const said = await ask(
      asked,
      { openapi: "3.1.0", paths: { "/a/{ids}/{at}": { get } } },
      { get: path, query: { pipes: "1|2", spaces: "1 2", repeated: [1, 2] }, headers: { "x-ids": "1, 2" } },
      { get: "/a/1,20/;at=3", query: { pipes: "1|20", spaces: "1" }, headers: { "x-ids": "1" } },
    );
    assert.equal(said[0], undefined);
    for (const told of [/path\.ids\[1\]: must be <= 9/, /query\.pipes\[1\]/, /query\.spaces/, /x-ids/])
      assert.match(said[1] ?? "", told);
  });

  it("takes a price for a multiple of a cent, whatever its rest is in floating point", async () => {
    await using asked = await server(200, [0.58, 19.99, 283.66, 123456.78, 4]);
    const schema = { type: "array", items: { type: "number", multipleOf: 0.01 } };
    const price = { name: "price", in: "query", schema: schema.items };
    const get = { parameters: [price], responses: { 200: { description: "", ...json(schema) } } };
    const said = await ask(
      asked,
      { openapi: "3.1.0", paths: { "/a": { get } } },
      { get: "/a", query: { price: 9.1 } },
      { get: "/a", query: { price: 9.105 } },
    );
    assert.equal(said[0], undefined);
    assert.match(said[1] ?? "", /request\.query\.price: must be multiple of 0\.01, got 9\.105/);
  });

  it("says once what each of several alternatives misses", async () => {
    await using asked = await server(200, {});
    const named = { type: "object", required: ["name"] };
    const schema = { oneOf: [named, { ...named, required: ["name", "price"] }] };
    const get = { responses: { 200: { description: "", ...json(schema) } } };
    const [said = ""] = await ask(asked, { openapi: "3.1.0", paths: { "/a": { get } } }, { get: "/a" });
    assert.deepEqual(said.match(/reply\.\w+: expected a value/g), [
      "reply.name: expected a value",
      "reply.price: expected a value",
    ]);
  });

  it("follows a path to where it is written", async () => {
    await using asked = await server(200, { price: 2 });
    const elsewhere = { pathItems: { lamp: { get: paths["/lamps/{id}"].get } } };
    const document = {
      openapi: "3.1.0",
      paths: { "/lamps": { $ref: "#/components/pathItems/lamp" } },
      components: elsewhere,
    };
    const [said] = await ask(asked, document, {
      get: "/lamps",
      query: { sort: "size" },
      headers: { "x-shop": "a" },
    });
    assert.match(said ?? "", /request\.query\.sort: expected one of/);
  });

  it("is done within seconds with a document that was made to take long", async () => {
    await using asked = await server(200, { name: `${"a".repeat(40)}!` });
    const parts = [..."abcdefghijkl"].map((name) => `{${name}}`).join("");
    const patterned = json({ type: "object", properties: { name: { pattern: "^(a+)+$" } } });
    const responses = { 200: { description: "", ...patterned } };
    const document = {
      ...documents[0],
      paths: { [`/${parts}!`]: { get: { responses } }, "/b": { get: { responses } } },
    };
    const slow = /within a second; write its patterns without repetition within repetition$/;
    const said = await ask(asked, document, { get: `/${"a".repeat(200)}` }, { get: "/b" });
    assert.match(said[0] ?? "", /the request can't be checked by/);
    assert.match(said[0] ?? "", slow);
    assert.match(said[1] ?? "", /the reply can't be checked by/);
    assert.match(said[1] ?? "", slow);
  });

  it("takes no name of JavaScript's own objects for the place of a parameter", async () => {
    await using asked = await server(200, {});
    const parameters = [
      { in: "__proto__", name: "polluted", schema: { type: "string" } },
      { in: "constructor", name: "keys", schema: { type: "string" } },
    ];
    const get = { parameters, responses: { 200: { description: "" } } };
    const { keys } = Object;
    try {
      assert.deepEqual(await ask(asked, { ...documents[0], paths: { "/a": { get } } }, { get: "/a" }), [
        undefined,
      ]);
      assert.equal("polluted" in {}, false);
      assert.equal(Object.keys, keys);
    } finally {
      Object.keys = keys;
      Reflect.deleteProperty(Object.prototype, "polluted");
    }
  });

  it("is told of a document that can't be used", async () => {
    await using asked = await server(200, {});
    for (const [document, told] of [
      ["a: [", /^`api\.yaml` is no OpenAPI document that can be used: /],
      ["- a", /it is no map$/],
      ["openapi: 3.1.0", /it has no `paths`$/],
      [
        { ...documents[0], paths: { "/a": { get: { responses: { 200: { $ref: "../b.yaml#/c" } } } } } },
        /it refers to `\.\.\/b\.yaml#\/c`; only references within the file are followed$/,
      ],
    ] as const) {
      const [said] = await ask(asked, document, { get: "/lamps/7" });
      assert.match(said ?? "", told);
    }
  });
});
