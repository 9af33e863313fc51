import assert from "node:assert/strict";
import { rm, stat, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { contentDisposition } from "../../../src/service/http/artifactRoutes.ts";
import { addArtifact } from "../../../src/service/store/runFiles.ts";
import { itOn } from "../../itOn.ts";
import { onBoth } from "../onBoth.ts";
import { serviceOn } from "../serviceOn.ts";
import { ended, type Service, started, startedService } from "../startedService.ts";

const never = new AbortController().signal;
const png = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0xff, 0x00]);
const page = "<script>fetch('/api/org')</script>";

onBoth("what the steps of a run keep", (store) => {
  const site = answering();

  it("is listed with the run, and comes back byte for byte", async () => {
    const { service, client, runId, secret } = await ranSteps(await serviceOn(store), site);
    await using _ = service;
    const run = await client.run(runId, never);
    assert.equal(run.status, "failed");
    assert.deepEqual(
      run.artifacts?.map(({ name, stepIndex, mediaType, bytes }) => [name, stepIndex, mediaType, bytes]),
      [
        ["body.png", 0, "image/png", png.length],
        ["body.json", 1, "application/json", 7],
        ["body.html", 2, "text/html", page.length],
      ],
    );
    const [first, second] = run.artifacts;
    const image = await get(service, secret, runId, first?.file);
    assert.equal(image.status, 200);
    assert.deepEqual(Buffer.from(await image.arrayBuffer()), png);
    assert.equal(image.headers.get("content-type"), "image/png");
    assert.equal(image.headers.get("content-length"), String(png.length));
    assert.match(image.headers.get("content-disposition") ?? "", /^inline; filename="body\.png"/);
    const head = await service.fetch(`/api/runs/${runId}/artifacts/${second?.file}`, {
      method: "HEAD",
      headers: { "x-api-key": secret },
    });
    assert.deepEqual([head.status, head.headers.get("content-length")], [200, "7"]);
  });

  it("is nobody's but its org's, and no way into the service's other files", async () => {
    const { service, client, runId, secret } = await ranSteps(await serviceOn(store), site);
    await using _ = service;
    const file = (await client.run(runId, never)).artifacts?.[0]?.file ?? "";
    const other = await service.key("owner", "other");
    assert.equal((await get(service, other.secret, runId, file)).status, 404);
    assert.equal((await service.fetch(`/api/runs/${runId}/artifacts/${file}`)).status, 401);
    assert.equal((await get(service, (await service.key("viewer")).secret, runId, file)).status, 200);
    for (const path of ["..%2flog.ndjson", "..%2f..%2f..%2fruns.db", "%2e%2e", "0-9", "."]) {
      assert.equal((await get(service, secret, runId, path)).status, 404, path);
    }
  });
});

describe("the files that the steps of a run keep on this machine", () => {
  const site = answering();

  it("can't act as a page of the service, whatever it is", async () => {
    const { service, client, runId, secret } = await ranSteps(await startedService(), site);
    await using _ = service;
    const { artifacts } = await client.run(runId, never);
    const reply = await get(service, secret, runId, artifacts?.[2]?.file);
    assert.equal(await reply.text(), page);
    assert.equal(reply.headers.get("content-type"), "application/octet-stream");
    assert.equal(reply.headers.get("x-content-type-options"), "nosniff");
    assert.match(reply.headers.get("content-security-policy") ?? "", /^default-src 'none';.* sandbox$/);
    assert.match(reply.headers.get("content-disposition") ?? "", /^attachment; filename="body\.html"/);
    for (const [index, mediaType] of [
      "image/svg+xml",
      "text/html; charset=utf-8",
      "text/xml",
      "",
      "x",
    ].entries()) {
      const at = new Date().toISOString();
      const file = `0-${index + 10}`;
      await writeFile(join(service.data, "runs", runId, "artifacts", file), page);
      const kept = { name: "x", file, stepIndex: 0, mediaType, bytes: 1, at };
      await service.db.transaction().execute((tx) => addArtifact(tx, runId, kept));
      const odd = await get(service, secret, runId, file);
      assert.equal(odd.headers.get("content-type"), "application/octet-stream", mediaType);
      assert.equal(await odd.text(), page);
    }
  });

  it("is not found when its file was taken away by hand", async () => {
    const { service, client, runId, secret } = await ranSteps(await startedService(), site);
    await using _ = service;
    const file = (await client.run(runId, never)).artifacts?.[0]?.file ?? "";
    await rm(join(service.data, "runs", runId, "artifacts", file));
    assert.equal((await get(service, secret, runId, file)).status, 404);
  });

  itOn("posix", "lies there for this user's eyes only", async () => {
    const { service, client, runId } = await ranSteps(await startedService(), site);
    await using _ = service;
    const file = (await client.run(runId, never)).artifacts?.[0]?.file ?? "";
    const folder = join(service.data, "runs", runId, "artifacts");
    assert.equal((await stat(folder)).mode & 0o777, 0o700);
    assert.equal((await stat(join(folder, file))).mode & 0o777, 0o600);
  });
});

describe("the header that names a file", () => {
  it("holds the name as it is where it can, and encoded", () => {
    assert.equal(
      contentDisposition("inline", "results.png"),
      `inline; filename="results.png"; filename*=UTF-8''results.png`,
    );
    assert.equal(
      contentDisposition("attachment", 'a "b"; c\\..\\..%2f\r\nx: y'),
      `attachment; filename="a _b__ c_.._.._2f__x: y"; filename*=UTF-8''a%20%22b%22%3B%20c%5C..%5C..%252f%0D%0Ax%3A%20y`,
    );
    assert.equal(
      contentDisposition("attachment", "Stra\u00dfe (1)*.\u{1f600}\ud800"),
      `attachment; filename="Stra_e (1)*.__"; filename*=UTF-8''Stra%C3%9Fe%20%281%29%2A.%F0%9F%98%80%EF%BF%BD`,
    );
  });
});

function get(service: Service, secret: string, runId: string, file = ""): Promise<Response> {
  return service.fetch(`/api/runs/${runId}/artifacts/${file}`, { headers: { "x-api-key": secret } });
}

/** A site that answers with a picture, with JSON, and with an error's page. @returns its address. */
function answering(): () => string {
  let site: Server;
  before(async () => {
    site = createServer((request, response) => {
      if (request.url === "/png") response.setHeader("content-type", "image/png").end(png);
      else if (request.url === "/json") response.setHeader("content-type", "application/json").end('{"a":1}');
      else response.writeHead(500, { "content-type": "text/html" }).end(page);
    });
    await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
  });
  after(() => {
    site.closeAllConnections();
    site.close();
  });
  return () => `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
}

/** A run whose three steps were answered with a picture, with JSON, and with an error's page. */
async function ranSteps<S extends Service>(service: S, site: () => string) {
  const { client, secret } = await service.member();
  await service.write(
    "three",
    [
      `resources: { web: { type: http, base-url: "${site()}" } }`,
      "steps:",
      ...["/png", "/json", "/broken"].map((path) => `  - { use: web, get: ${path} }`),
    ].join("\n"),
  );
  const { runId } = await ended(client, await started(client, "three"));
  return { service, client, secret, runId };
}
