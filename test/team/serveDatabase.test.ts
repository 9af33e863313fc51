import assert from "node:assert/strict";
import { postgresFolder } from "../postgres/installPostgres.ts";
import { databasesForSuite } from "../postgres/lentDatabases.ts";
import { Shared } from "../service/serviceOn.ts";

describe("a server of many", function () {
  this.timeout(60_000);
  const native = postgresFolder();
  // Where there is no PostgreSQL for the tests, there are no tests of it.
  if (native === undefined) return;
  const lend = databasesForSuite(native);

  it("keeps an idle connection for longer than balancers do, which would answer 502", async () => {
    await using lent = await lend();
    await using shared = new Shared(lent);
    const server = await shared.serveAt(0);
    const { headers } = await fetch(`${server.url}/healthz`);
    assert.equal(headers.get("keep-alive"), "timeout=75");
    await server.stop();
  });
});
