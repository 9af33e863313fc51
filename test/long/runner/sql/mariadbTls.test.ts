// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the references that pipeline files are written with.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { certificate } from "../../../certificate.ts";
import { forSuite } from "../../../forSuite.ts";
import { mysqlPrograms } from "../../../mysql/mysqlPrograms.ts";
import { startedMysql } from "../../../mysql/startedMysql.ts";
import { type TestSteps, testSteps } from "../../../runner/sql/runTestSteps.ts";
import { temporaryFolder } from "../../../temporaryFolder.ts";

// MySQL from npm is of a time whose TLS Node refuses.
for (const programs of mysqlPrograms().filter(({ name }) => name === "MariaDB")) {
  describe(`an sql step on ${programs.name} with TLS`, () => {
    const folder = temporaryFolder();
    const tls = certificate({ host: "localhost" });
    const mysql = forSuite((signal) => startedMysql(programs, signal, { tls }));
    beforeEach(() => writeFile(join(folder.path, "ca.pem"), tls.cert));
    const isSecure = {
      query:
        "select variable_value <> '' as tls from information_schema.session_status where variable_name = 'ssl_cipher'",
      expect: { rows: [{ tls: 1 }] },
    };

    it("checks of the certificate what the address asks for", async () => {
      for (const [host, query] of [
        ["127.0.0.1", "?ssl-mode=PREFERRED"],
        ["127.0.0.1", "?sslmode=require"],
        ["127.0.0.1", "?ssl-mode=REQUIRED&ssl-ca=ca.pem"],
        ["127.0.0.1", "?ssl-mode=VERIFY_CA&ssl-ca=ca.pem"],
        ["localhost", "?sslmode=verify-full&sslrootcert=ca.pem"],
        ["localhost", "?ssl-ca=ca.pem"],
      ] as const) {
        await using steps = stepsOn(host, query);
        assert.deepEqual(await steps.run(isSecure), { kind: "succeeded" }, query);
      }
      await using plain = stepsOn("127.0.0.1", "");
      assert.equal(await plain.fails(isSecure), "$[0].tls: expected 1, got 0");
    });

    it("tells plainly what is wrong with a certificate", async () => {
      const { port } = mysql();
      await using unknown = stepsOn("localhost", "?ssl-mode=VERIFY_IDENTITY");
      assert.match(
        await unknown.fails(isSecure),
        new RegExp(`^the certificate of localhost:${port} isn't from an authority that this machine trusts`),
      );
      await using other = stepsOn("127.0.0.1", "?ssl-mode=VERIFY_IDENTITY&ssl-ca=ca.pem");
      assert.equal(
        await other.fails(isSecure),
        `the certificate of 127.0.0.1:${port} was made for another host`,
      );
      await writeFile(join(folder.path, "other.pem"), certificate({ host: "localhost" }).cert);
      await using stranger = stepsOn("localhost", "?ssl-mode=REQUIRED&ssl-ca=other.pem");
      assert.match(await stranger.fails(isSecure), /isn't from an authority that this machine trusts/);
    });

    it("cancels a statement over TLS", async () => {
      await using steps = stepsOn("localhost", "?ssl-mode=VERIFY_IDENTITY&ssl-ca=ca.pem");
      await steps.succeeds(isSecure);
      assert.equal(
        await steps.fails({ query: "select sleep(3600)", timeout: "1s" }),
        "the statement wasn't over within 1 s, the step's `timeout`; it was cancelled",
      );
    });

    it("is said to be needed where a server takes no connection without it", async () => {
      await using steps = stepsOn("localhost", "?ssl-ca=ca.pem");
      await steps.succeeds({ query: "set global require_secure_transport = on" });
      await using plain = stepsOn("127.0.0.1", "");
      const problem = await plain.fails({ query: "select 1" });
      await steps.succeeds({ query: "set global require_secure_transport = off" });
      assert.equal(
        problem,
        `127.0.0.1:${mysql().port} refuses the user app: the password is wrong, or the user may not connect from here or without TLS (\`ssl-mode\`)`,
      );
    });

    function stepsOn(host: string, query: string): TestSteps {
      const url = `mysql://app:\${{ env.PASSWORD }}@${host}:${mysql().port}/shop${query}`;
      return testSteps(url, folder.path, {}, { PASSWORD: mysql().password });
    }
  });
}
