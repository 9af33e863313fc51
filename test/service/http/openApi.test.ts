import assert from "node:assert/strict";
import { Validator } from "@seriousme/openapi-schema-validator";
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { bareApp } from "../bareApp.ts";
import { fillDay } from "../fillDay.ts";
import { startedCore } from "../startedCore.ts";
import { ended, programPipeline, started, startedService, untilCancelled } from "../startedService.ts";

const never = new AbortController().signal;

describe("the OpenAPI document", () => {
  it("is valid OpenAPI 3.1, and served without a key", async () => {
    await using service = await startedService();
    const reply = await service.fetch("/openapi.json");
    assert.equal(reply.status, 200);
    assert.match(reply.headers.get("content-type") ?? "", /^application\/json/);
    const validator = new Validator();
    const { valid, errors } = await validator.validate(JSON.parse(await reply.text()));
    assert.equal(valid, true, JSON.stringify(errors, undefined, 1));
    assert.equal(validator.version, "3.1");
  });

  it("has every route that the service has, and no other", async () => {
    await using core = await startedCore("2026-03-04T12:00:00Z");
    await using service = await startedService();
    const { app } = bareApp(core);
    const routes = app.routes
      // What is under /app is the page, which is for people, and / leads to it.
      .filter(({ method, path }) => method !== "ALL" && path !== "/" && !path.startsWith("/app"))
      .map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, "{$1}")}`);
    const told = operationsOf(await documentOf(service)).map(
      ({ method, path }) => `${method.toUpperCase()} ${path}`,
    );
    assert.deepEqual(told.sort(), [...new Set(routes)].sort());
  });

  it("names every part of a path, and each operation once", async () => {
    await using service = await startedService();
    const operations = operationsOf(await documentOf(service));
    for (const { path, operation } of operations) {
      const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const told = operation.parameters.filter((each) => each.in === "path").map(({ name }) => name);
      assert.deepEqual(told, named, path);
    }
    assert.equal(new Set(operations.map(({ operation }) => operation.operationId)).size, operations.length);
  });

  it("has its names in kebab-case, as they are on the wire", async () => {
    await using service = await startedService();
    const text = JSON.stringify(await documentOf(service));
    assert.match(text, /"run-id"/);
    for (const [, name = ""] of text.matchAll(/"properties":\{"([^"]+)"/g))
      assert.doesNotMatch(name, /[A-Z]/);
    assert.doesNotMatch(text, /runId|stoppedAt|runsPerDay|isActor/);
  });

  it("describes what the service really answers, good and bad", async () => {
    await using service = await startedService();
    const { client, secret, orgId } = await service.member();
    const owner = await service.key("owner");
    const viewer = await service.key("viewer");
    const check = replyCheck(service.url, await documentOf(service));
    await service.write("hello", programPipeline("console.log('hello')"));
    await service.write("long", programPipeline(untilCancelled));
    await service.write("broken", "steps: 7\n");
    const hello = JSON.stringify({ pipeline: "hello" });

    await check("get", "/healthz", 200);
    await check("get", "/openapi.json", 200);
    await check("get", "/api/org", 200, { key: viewer.secret });
    await check("get", "/api/org", 401);
    await check("get", "/api/pipelines", 200, { key: secret, query: "?project=none" });
    await check("get", "/api/pipelines", 200, { key: secret });
    await check("get", "/api/projects", 200, { key: secret });
    await check("put", "/api/projects/{name}", 400, { key: secret, body: "{}" });
    await check("put", "/api/projects/{name}", 403, { key: viewer.secret, body: "{}" });
    const root = JSON.stringify({ root: service.project.root });
    await check("put", "/api/projects/{name}", 200, { key: secret, body: root, params: { name: "second" } });
    await check("delete", "/api/projects/{name}", 200, { key: secret, params: { name: "second" } });
    await check("delete", "/api/projects/{name}", 404, { key: secret, params: { name: "second" } });

    await check("post", "/api/runs", 400, { key: secret, body: "{" });
    await check("post", "/api/runs", 413, { key: secret, body: "x".repeat(600_000) });
    await check("post", "/api/runs", 404, { key: secret, body: JSON.stringify({ pipeline: "none" }) });
    await ended(client, await started(client, "hello"));
    await check("post", "/api/runs", 201, { key: secret, body: JSON.stringify({ pipeline: "long" }) });
    await check("post", "/api/runs", 429, { key: secret, body: hello });
    const { runs } = await client.runs({}, never);
    const [long, first] = runs;
    await check("get", "/api/runs", 200, { key: secret, query: "?limit=1" });
    await check("get", "/api/runs", 400, { key: secret, query: "?limit=101" });
    await check("get", "/api/runs", 400, { key: secret, query: "?status=resting" });
    for (const { runId } of runs) {
      await check("get", "/api/runs/{id}", 200, { key: viewer.secret, params: { id: runId } });
    }
    await check("get", "/api/runs/{id}", 404, { key: secret, params: { id: "run_none" } });
    for (const run of [long, first]) {
      const params = { id: run?.runId ?? "" };
      await check("post", "/api/runs/{id}/cancel", 403, { key: viewer.secret, params });
      await check("post", "/api/runs/{id}/cancel", 200, { key: secret, params });
    }
    await ended(client, { runId: long?.runId ?? "" });
    await fillDay(service.data, 48, Date.now(), orgId);
    await check("post", "/api/runs", 429, { key: secret, body: hello });

    await check("get", "/api/keys", 200, { key: owner.secret });
    const made = JSON.stringify({ role: "viewer", name: "board" });
    await check("post", "/api/keys", 201, { key: owner.secret, body: made });
    await check("post", "/api/keys", 403, { key: secret, body: made });
    await check("post", "/api/keys/{id}/revoke", 200, { key: owner.secret, params: { id: viewer.keyId } });
    await check("post", "/api/keys/{id}/revoke", 409, { key: owner.secret, params: { id: owner.keyId } });
    await check("get", "/api/keys", 200, { key: owner.secret });
  });
});

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

interface Operation {
  readonly operationId: string;
  readonly parameters: readonly { readonly name: string; readonly in: string }[];
}

async function documentOf(service: Awaited<ReturnType<typeof startedService>>): Promise<Document> {
  return JSON.parse(await (await service.fetch("/openapi.json")).text());
}

function operationsOf({ paths }: Document) {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
}

interface Asked {
  readonly key?: string;
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: string;
  readonly body?: string;
}

/** Asks the service and holds its reply to what the document says of that status: its headers and its body. */
function replyCheck(url: string, told: Document) {
  // A field that no schema has would be one that the document doesn't tell of.
  const document = JSON.parse(JSON.stringify(told), (_, value) =>
    value?.type === "object" && value.properties !== undefined
      ? { ...value, additionalProperties: false }
      : value,
  );
  const ajv = new Ajv2020({ strict: false });
  formats.default(ajv);
  ajv.addSchema({ ...document, $id: "https://document.test/" });
  const resolve = (value: { $ref?: string }) =>
    value.$ref === undefined
      ? value
      : value.$ref
          .slice(2)
          .split("/")
          .reduce((at, part) => at[part], document);

  return async (method: string, path: string, status: number, asked: Asked = {}) => {
    const what = `${method} ${path} ${status}`;
    const filled = path.replaceAll(/\{(\w+)\}/g, (_, name) =>
      encodeURIComponent(asked.params?.[name] ?? "some"),
    );
    const reply = await fetch(`${url}${filled}${asked.query ?? ""}`, {
      method: method.toUpperCase(),
      headers: asked.key === undefined ? {} : { "x-api-key": asked.key },
      ...(asked.body === undefined ? {} : { body: asked.body }),
    });
    const text = await reply.text();
    assert.equal(reply.status, status, `${what}: ${text}`);
    const operation = document.paths[path][method];
    assert(operation.responses[status] !== undefined, `${what} is not in the document`);
    const response = resolve(operation.responses[status]);
    for (const name of Object.keys(response.headers)) {
      // Only one of the two scopes knows when it is over.
      if (name === "Retry-After" && text.includes('"scope":"org"')) continue;
      assert(reply.headers.has(name), `${what} has no ${name}`);
    }
    const { schema } = response.content["application/json"];
    const valid = ajv.compile(
      schema.$ref === undefined ? schema : { $ref: `https://document.test/${schema.$ref}` },
    );
    assert(valid(JSON.parse(text)), `${what}: ${JSON.stringify(valid.errors)} ${text}`);
  };
}
