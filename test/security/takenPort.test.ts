import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { join } from "node:path";
import { projectRoot } from "../../scripts/projectRoot.ts";
import { readConnection } from "../../src/machine/connectionFile.ts";
import { serve } from "../../src/service/server.ts";
import { Visitor } from "../page/visitor.ts";
import { TemporaryFolder } from "../temporaryFolder.ts";

describe("a page's session that another program got hold of, at the port of a service that had ended", () => {
  it("opens nothing once the service is back at another port", async () => {
    await using folder = await TemporaryFolder.make();
    const begin = async () => {
      const pageFolder = join(projectRoot, "dist/page");
      const options = { folder: folder.path, runnerPath: "", pageFolder, env: {}, log: () => {} };
      const served = await serve({ ...options, port: "as-before" });
      return served === "taken" ? assert.fail("the folder is served already") : served;
    };
    const first = await begin();
    const { token = "" } = (await readConnection(folder.path)) ?? {};
    const visitor = new Visitor(first);
    await visitor.signIn(token);
    assert.equal((await visitor.get("/app/runs")).status, 200);
    await first.stop();

    const second = await begin();
    assert.equal(second.url, first.url);
    assert.equal((await visitor.get("/app/runs")).status, 200, "a restart alone signs nobody out");
    await second.stop();

    const thief = createServer((_, response) => void response.end());
    thief.listen(Number(new URL(first.url).port), "127.0.0.1");
    await once(thief, "listening");
    const third = await begin();
    try {
      assert.notEqual(third.url, first.url);
      const stolen = new Visitor(third);
      stolen.cookie = visitor.cookie;
      assert.equal((await stolen.get("/app/runs")).status, 303, "it is sent to sign in");
    } finally {
      await third.stop();
      thief.closeAllConnections();
      thief.close();
      await once(thief, "close");
    }
  });
});
