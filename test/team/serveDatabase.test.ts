import assert from "node:assert/strict";
import { dataNameOf } from "../../src/team/serveDatabase.ts";
import { postgresFolder } from "../postgres/installPostgres.ts";
import { databasesForSuite } from "../postgres/lentDatabases.ts";
import { parseReply, rawExchange } from "../service/rawExchange.ts";
import { Shared } from "../service/serviceOn.ts";

describe("a server of many", () => {
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

  it("answers the check of a balancer that speaks HTTP/1.0 and names no host", async () => {
    await using lent = await lend();
    await using shared = new Shared(lent);
    const server = await shared.serveAt(0);
    const check = await rawExchange(server.url, "GET /readyz HTTP/1.0\r\n\r\n");
    assert.equal(parseReply(check).status, 200);
    await server.stop();
  });

  it("keeps the name of its data, after which the page's cookie is named, however the URL is written", () => {
    assert.equal(dataNameOf("postgres://app:secret@database/runs"), "database/runs");
    assert.equal(
      dataNameOf("postgres://app:secret@database:5432/runs?sslmode=disable"),
      "database:5432/runs",
    );
    assert.equal(dataNameOf("postgres://app:secret@/runs?host=/run/postgresql"), "/run/postgresql/runs");
  });
});
