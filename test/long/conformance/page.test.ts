import assert from "node:assert/strict";
import { Visitor } from "../../page/visitor.ts";
import { fillDay } from "../../service/fillDay.ts";
import { row } from "./row.ts";
import { type ServedTool, servedTool } from "./servedTool.ts";

describe("conformance: the page", () => {
  let served: ServedTool;
  before(async () => {
    served = await servedTool();
  });
  after(() => served[Symbol.asyncDispose]());

  /** The page's text as a person reads it: without its markup. */
  async function runsPage(used: number, limits: { runs_per_day?: number } = {}): Promise<string> {
    const someone = await served.member();
    if (used > 0) await fillDay(served.data, used, Date.now(), someone.orgId, someone.orgId);
    if (limits.runs_per_day !== undefined) {
      await served.db.updateTable("orgs").set(limits).where("id", "=", someone.orgId).execute();
    }
    const visitor = new Visitor(served);
    assert.equal((await visitor.signIn(someone.secret)).status, 303);
    const html = await visitor.text("/app/runs");
    assert(!html.includes(someone.secret.slice(-43)));
    return html.replaceAll(/<(?:script|style)[\s\S]*?<\/(?:script|style)>|<[^>]*>/g, "");
  }

  row(
    "description, Endpoints: rule 4",
    "has the line with the number that the org has used, in one piece",
    async () => {
      for (const used of [0, 1, 50]) {
        const line = `Free tier: ${used} of 50 runs used today. The count starts again at 00:00 UTC.`;
        const lines = (await runsPage(used)).split("\n").filter((text) => text.includes("Free tier:"));
        assert.equal(lines.length, 1);
        assert(lines[0]?.includes(line), lines[0]);
      }
    },
  );

  row(
    "description, Authentication: rule 2",
    "shows nothing to who isn't signed in: no line, no number, no run",
    async () => {
      const visitor = new Visitor(served);
      for (const path of ["/app/runs", "/app/runs/run_1", "/app"]) {
        const reply = await visitor.get(path);
        assert(reply.status === 303 || reply.status === 302, `${path} answered ${reply.status}`);
        assert.match(reply.headers.get("location") ?? "", /\/app\//);
        assert.doesNotMatch(await reply.text(), /Free tier|runs used/);
      }
      visitor.cookie = "session=made-up";
      assert.notEqual((await visitor.get("/app/runs")).status, 200);
      assert.equal((await new Visitor(served).signIn("plr_wrong")).status, 401);
    },
  );

  row(
    "contract, Endpoints: page /app/runs, sign-in required",
    "the line moves with the count, and its limit is the org's",
    async () => {
      assert.match(
        await runsPage(7),
        /Free tier: 7 of 50 runs used today\. The count starts again at 00:00 UTC\./,
      );
      assert.match(await runsPage(3, { runs_per_day: 60 }), /\b3 of 60 runs used today\./);
    },
  );
});
