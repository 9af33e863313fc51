import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { RunnerEnd } from "../../../src/contract/runners.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";
import { launchTestRun, pipelineOf } from "../launch/launchTestRun.ts";

const certificates = join(import.meta.dirname, "certificates");
const authority = join(certificates, "authority.pem");

describe("an http step that asks by https", () => {
  const folder = temporaryFolder();

  it("is served under a certificate that the service's environment trusts", async () => {
    assert.deepEqual(await ask("good", { NODE_EXTRA_CA_CERTS: authority }), { kind: "succeeded" });
  });

  it("says that a certificate has expired", async () => {
    assert.match(
      message(await ask("expired", { NODE_EXTRA_CA_CERTS: authority })),
      /: the certificate of 127\.0\.0\.1:\d+ has expired$/,
    );
  });

  it("says that a certificate is another host's", async () => {
    assert.match(
      message(await ask("other-host", { NODE_EXTRA_CA_CERTS: authority })),
      /: the certificate of 127\.0\.0\.1:\d+ was made for another host$/,
    );
  });

  it("says that a certificate is from nobody who is trusted, and how to trust him", async () => {
    for (const name of ["self-signed", "good"]) {
      const said = message(await ask(name, {}));
      assert.match(said, /isn't from an authority that this machine trusts \([A-Z_]+\)/, name);
      assert.match(said, /NODE_EXTRA_CA_CERTS/);
    }
  });

  async function ask(certificate: string, trusted: Record<string, string>): Promise<RunnerEnd> {
    const [key, cert] = await Promise.all(
      ["server-key", certificate].map((name) => readFile(join(certificates, `${name}.pem`))),
    );
    const server = createServer({ key, cert }, (_request, response) => response.end("hello"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const { NODE_EXTRA_CA_CERTS: _, ...env } = process.env;
    const pipeline = pipelineOf({
      resources: { s: { type: "http" } },
      steps: [{ name: "ask", use: "s", get: `https://127.0.0.1:${port}/`, expect: { text: "hello" } }],
    });
    const end = await launchTestRun(folder.path, pipeline, { env: { ...env, ...trusted } }).job.ended;
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    return end;
  }
});

function message(end: RunnerEnd): string {
  return end.kind === "failed" ? end.message : assert.fail(`the run ended otherwise: ${end.kind}`);
}
