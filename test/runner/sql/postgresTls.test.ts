// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the references that pipeline files are written with.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { certificate } from "../../certificate.ts";
import { forSuite } from "../../forSuite.ts";
import { postgresFolder } from "../../postgres/installPostgres.ts";
import { startedPostgres } from "../../postgres/startedPostgres.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";
import { type TestSteps, testSteps } from "./runTestSteps.ts";

describe("an sql step on PostgreSQL with TLS", () => {
  const native = postgresFolder();
  if (native === undefined) return;
  const folder = temporaryFolder();
  const tls = certificate({ host: "localhost" });
  const postgres = forSuite((signal) => startedPostgres(native, signal, { tls }));
  beforeEach(() => writeFile(join(folder.path, "ca.pem"), tls.cert));
  const isSecure = {
    query: "select ssl from pg_stat_ssl where pid = pg_backend_pid()",
    expect: { rows: [{ ssl: true }] },
  };

  it("checks of the certificate what the address asks for", async () => {
    for (const [host, query] of [
      ["127.0.0.1", "?sslmode=prefer"],
      ["127.0.0.1", "?sslmode=require"],
      ["127.0.0.1", "?sslmode=require&sslrootcert=ca.pem"],
      ["127.0.0.1", "?sslmode=verify-ca&sslrootcert=ca.pem"],
      ["localhost", "?sslmode=verify-full&sslrootcert=ca.pem"],
      ["localhost", "?sslrootcert=ca.pem"],
    ] as const) {
      await using steps = stepsOn(host, query);
      assert.deepEqual(await steps.run(isSecure), { kind: "succeeded" }, query);
    }
    await using plain = stepsOn("127.0.0.1", "");
    assert.equal(await plain.fails(isSecure), "$[0].ssl: expected true, got false");
  });

  it("tells plainly what is wrong with a certificate", async () => {
    const { port } = postgres();
    await using unknown = stepsOn("localhost", "?sslmode=verify-full");
    assert.match(
      await unknown.fails(isSecure),
      new RegExp(`^the certificate of localhost:${port} isn't from an authority that this machine trusts`),
    );
    await using system = stepsOn("localhost", "?sslrootcert=system");
    assert.match(await system.fails(isSecure), /isn't from an authority that this machine trusts/);
    await using other = stepsOn("127.0.0.1", "?sslmode=verify-full&sslrootcert=ca.pem");
    assert.equal(
      await other.fails(isSecure),
      `the certificate of 127.0.0.1:${port} was made for another host`,
    );
    await writeFile(join(folder.path, "other.pem"), certificate({ host: "localhost" }).cert);
    await using stranger = stepsOn("localhost", "?sslmode=require&sslrootcert=other.pem");
    assert.match(await stranger.fails(isSecure), /isn't from an authority that this machine trusts/);
  });

  it("cancels a statement over TLS", async () => {
    await using steps = stepsOn("localhost", "?sslmode=verify-full&sslrootcert=ca.pem");
    await steps.succeeds(isSecure);
    assert.equal(
      await steps.fails({ query: "select pg_sleep(3600)", timeout: "1s" }),
      "the statement wasn't over within 1 s, the step's `timeout`; it was cancelled",
    );
  });

  function stepsOn(host: string, query: string): TestSteps {
    const url = `postgres://app:\${{ env.PASSWORD }}@${host}:${postgres().port}/postgres${query}`;
    return testSteps(url, folder.path, {}, { PASSWORD: postgres().password });
  }
});
