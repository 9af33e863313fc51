import assert from "node:assert/strict";
import { createServer } from "node:https";
import { PipelineError } from "../../../src/contract/errors.ts";
import { clientOf } from "../../../src/extension/session/session.ts";
import { systemClock } from "../../../src/machine/clock.ts";
import { certificate } from "../../certificate.ts";
import { testKey } from "../../client/loopbackService.ts";

const never = new AbortController().signal;

describe("a client of the editor's", () => {
  it("is told to trust a certificate in the system's way: the environment's has no effect in an editor", async () => {
    const server = createServer(certificate({ host: "localhost" }), (_, response) => response.end("{}"));
    await new Promise<void>((resolve) => server.listen(0, "localhost", resolve));
    try {
      const address = server.address();
      assert(typeof address === "object" && address !== null);
      const where = { kind: "remote", baseUrl: new URL(`https://localhost:${address.port}/`) } as const;
      const embedded = () => Promise.reject(new Error("not wanted"));
      const client = await clientOf(where, testKey, { embedded, clock: systemClock }, never);
      await assert.rejects(client.org(never), (error) => {
        assert(error instanceof PipelineError);
        assert.match(error.message, /can't be trusted: it is signed by itself\.$/);
        assert.match(error.next ?? "", /this machine's certificates/);
        return true;
      });
    } finally {
      await new Promise((resolve) => server.close(resolve));
    }
  });

  it("finds this machine's service while the key is still looked up", async () => {
    const key = Promise.withResolvers<string | undefined>();
    const embedded = async () => {
      key.resolve(undefined);
      return { baseUrl: new URL("http://127.0.0.1:1/"), apiKey: testKey };
    };
    const client = await clientOf({ kind: "embedded" }, key.promise, { embedded, clock: systemClock }, never);
    assert.equal(client.apiKey, testKey);
  });
});
