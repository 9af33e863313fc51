// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the references that pipeline files are written with.
import assert from "node:assert/strict";
import { mysqlPrograms } from "../../mysql/mysqlPrograms.ts";
import { mysqlForSuite } from "../../mysql/startedMysql.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";
import { TestSteps } from "./runTestSteps.ts";

for (const programs of mysqlPrograms()) {
  describe(`an sql step on ${programs.name}`, function () {
    this.timeout(60_000);
    const folder = temporaryFolder();
    const mysql = mysqlForSuite(programs);

    it("runs a statement, and compares rows and their count", async () => {
      await using steps = stepsOn();
      await steps.succeeds({ query: "select version() as v" });
      console.log(steps.keptRows());
    });

    function stepsOn(): TestSteps {
      return new TestSteps(mysql().url(), folder.path, {}, { PASSWORD: mysql().password });
    }
  });
}
