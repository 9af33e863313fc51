import assert from "node:assert/strict";
import { openArtifact } from "../../../src/extension/log/artifacts.ts";
import { artifactUri } from "../../../src/extension/log/runUri.ts";
import { systemClock } from "../../../src/machine/clock.ts";
import { LoopbackService, runOnWire, sendError, sendJson, testKey } from "../../client/loopbackService.ts";

const never = new AbortController().signal;
const picture = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0xff, 0x00]);
const kept = {
  name: "shop.png",
  file: "1-1",
  "step-index": 0,
  "media-type": "image/png",
  bytes: picture.byteLength,
  at: "2026-03-03T10:00:05Z",
};
const uri = artifactUri("run_1", { file: "1-1", name: "shop.png", mediaType: "image/png" });

function serving(answer: (path: string) => Buffer | undefined): Promise<LoopbackService> {
  return LoopbackService.listen(({ path }, response) => {
    const bytes = answer(path);
    if (path === "/api/runs/run_1") return sendJson(response, 200, runOnWire({ artifacts: [kept] }));
    if (bytes === undefined) return sendError(response, 404, "not-found", "It was removed on 2 March.");
    response.writeHead(200, { "content-type": "image/png" }).end(bytes);
    return undefined;
  });
}

const fileOf = (service: LoopbackService, address = uri) =>
  openArtifact(address, { connect: async () => service.client(systemClock), signal: never });

describe("a file that a step kept", () => {
  it("comes from the service byte for byte, with the key in the header alone", async () => {
    await using service = await serving((path) => (path.includes("/artifacts/") ? picture : undefined));
    const file = await fileOf(service);
    assert.equal(file?.size, picture.byteLength);
    assert.equal(file?.changedAt, Date.parse(kept.at));
    assert.deepEqual(Buffer.from((await file?.read()) ?? []), picture);
    for (const { path, headers } of service.asked) {
      assert(!path.includes(testKey));
      assert.equal(headers["x-api-key"], testKey);
    }
    assert.equal(service.asked.at(-1)?.path, "/api/runs/run_1/artifacts/1-1");
  });

  it("is none where the run doesn't list it, or the service has removed it", async () => {
    await using service = await serving(() => undefined);
    await assert.rejects(
      fileOf(service, artifactUri("run_1", { file: "9-9", name: "x", mediaType: "image/png" })),
      { type: "not-found" },
    );
    assert.equal(await fileOf(service, { ...uri, path: "/run_1" }), undefined);
    const file = await fileOf(service);
    await assert.rejects(async () => file?.read(), { type: "not-found", message: /removed on 2 March/ });
  });

  it("is not taken in when there is far more of it than a service keeps", async () => {
    await using service = await serving((path) =>
      path.includes("/artifacts/") ? Buffer.alloc(33 * 1024 * 1024) : undefined,
    );
    const file = await fileOf(service);
    await assert.rejects(async () => file?.read(), {
      type: "breaks-contract",
      message: /larger than 32 MiB/,
    });
  });
});
