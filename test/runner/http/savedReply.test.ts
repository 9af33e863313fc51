import assert from "node:assert/strict";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { runHttpStep } from "../../../src/runner/http/runHttpStep.ts";
import { Mask } from "../../../src/runner/mask/mask.ts";
import { outcomeOf, type StepContext } from "../../../src/runner/step/stepContext.ts";
import { pipelineOf } from "../launch/launchTestRun.ts";
import { stepContextFor, type TestStepContext } from "../step/stepContextFor.ts";

const png = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0xff, 0x00]);

describe("what an http step leaves behind", () => {
  it("is a line on its request and the reply, without the query", async () => {
    const { logged, base } = await ask((_request, response) => response.end("{}"), { get: "/a?token=x" });
    assert.match(logged(), new RegExp(`^# GET ${base}/a\\?… → 200 in [\\d.]+ m?s, 2 bytes\n$`));
  });

  it("is a line for each redirect", async () => {
    const { logged, base } = await ask(
      (request, response) =>
        request.url === "/b" ? response.end() : response.writeHead(303, { location: "/b" }).end(),
      { post: "/a", json: {} },
    );
    assert.match(
      logged(),
      new RegExp(`^# POST ${base}/a → 303, a redirect\n# GET ${base}/b → 200 in [\\d.]+ m?s, 0 bytes\n$`),
    );
  });

  it("is no line for a redirect that isn't followed any more", async () => {
    const { logged } = await ask((_request, response) => response.writeHead(302, { location: "/" }).end(), {
      get: "/",
    });
    assert.equal(logged().match(/a redirect/g)?.length, 10);
  });

  it("is a line also when no reply comes", async () => {
    const { logged, base } = await ask((request) => request.socket.destroy(), { get: "/a" });
    assert.equal(logged(), `# GET ${base}/a → no reply\n`);
    const silent = await ask(() => {}, { get: "/a", timeout: "50ms" });
    assert.equal(silent.logged(), `# GET ${silent.base}/a → no reply\n`);
  });

  it("is the body of the reply, by its type and byte for byte", async () => {
    const json = await ask(
      (_request, response) => response.setHeader("content-type", "Application/JSON; charset=utf-8").end("{}"),
      { get: "/" },
    );
    assert.deepEqual(kept(json), [{ name: "body.json", mediaType: "application/json", text: "{}" }]);
    const image = await ask(
      (_request, response) => response.setHeader("content-type", "image/png").end(png),
      {
        get: "/",
      },
    );
    assert.deepEqual(image.kept[0]?.content, png);
    const unknown = await ask(
      (_request, response) => response.setHeader("content-type", "../../x\u00e4").end("x"),
      { get: "/" },
    );
    assert.deepEqual(kept(unknown), [{ name: "body.bin", mediaType: "application/octet-stream", text: "x" }]);
    assert.deepEqual((await ask((_request, response) => response.end(), { get: "/" })).kept, []);
  });

  it("is a large body only when the step fails, and then no more than 1 MiB of it", async () => {
    const large: RequestListener = (_request, response) => response.end("x".repeat(2 * 1024 * 1024));
    assert.deepEqual((await ask(large, { get: "/" })).kept, []);
    const failing = await ask(large, { get: "/", expect: { status: 404 } });
    assert.equal(failing.kept[0]?.content.length, 1024 * 1024);
    assert.match(failing.logged(), /# of the reply's body the first 1048576 bytes are saved\n/);
  });

  it("is still JSON where a secret is taken out of it", async () => {
    const body = '{ "port": 18137, "user": "ada-secret", "at": { "18137": [true, null, 9007199254740993] } }';
    const saved = async (text: string) => {
      const { kept } = await ask(
        (_request, response) => response.setHeader("content-type", "application/problem+json").end(text),
        { get: "/" },
        { mask: new Mask(["18137", "ada-secret"]) },
      );
      return Buffer.from(kept[0]?.content ?? "").toString();
    };
    assert.equal(await saved(body), '{"port":"***","user":"***","at":{"***":[true,null,9007199254740993]}}');
    assert.equal(await saved('{ "n": 1e999, "user": "ada-secret" }'), '{ "n": 1e999, "user": "***" }');
  });

  it("holds no secret", async () => {
    const mask = new Mask(["s3cr3t-value", "secret-type"]);
    const { kept: artifacts, logged } = await ask(
      (_request, response) =>
        response
          .setHeader("content-type", "text/secret-type")
          .end(Buffer.concat([png, Buffer.from("s3cr3t-value")])),
      { get: "/s3cr3t-value" },
      { mask },
    );
    assert.doesNotMatch(Buffer.from(artifacts[0]?.content ?? "").toString("latin1"), /s3cr3t/);
    assert.equal(artifacts[0]?.mediaType, "application/octet-stream");
    assert.match(logged(), /\/\*\*\* → 200/);
  });
});

function kept(asked: TestStepContext) {
  return asked.kept.map(({ name, mediaType, content }) => ({
    name,
    mediaType,
    text: Buffer.from(content).toString(),
  }));
}

/** Asks a server as a step says. The step's outcome doesn't matter here. */
async function ask(
  listener: RequestListener,
  file: object,
  changes: Partial<StepContext> = {},
): Promise<TestStepContext & { readonly base: string }> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const [step] = pipelineOf({
    resources: { s: { type: "http", "base-url": base } },
    steps: [{ use: "s", ...file }],
  }).steps;
  assert.ok(step?.type === "http");
  const stepContext = stepContextFor("/", changes);
  await outcomeOf(runHttpStep(step, stepContext.stepContext));
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  return { ...stepContext, base };
}
