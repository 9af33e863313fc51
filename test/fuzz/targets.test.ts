import assert from "node:assert/strict";
import { join } from "node:path";
import { readCorpus } from "./engine/corpusFolder.ts";
import { searchGuarded } from "./engine/searchGuarded.ts";
import { loadTarget, targetNames } from "./targets.ts";

/** Of searching, each. Loading a target and replaying what is kept of it comes to it. */
const secondsEach = 1;
/** The same each time: a change is judged by what it breaks. `npm run fuzz` looks where nobody has looked before. */
const seed = 20_261_121;
const { signal } = new AbortController();

describe("what parses bytes from outside", function () {
  this.timeout(120_000);

  for (const name of targetNames) {
    it(`holds for what is kept and for fresh inputs: ${name}`, async () => {
      const kept = readCorpus(join(import.meta.dirname, "corpus", name)).map(({ input }) => input);
      const report = await searchGuarded(
        { target: name, kept, seed, seconds: secondsEach, mostFindings: 1 },
        signal,
      );
      assert.ok(report.inputs >= kept.length, "what is kept was tried");
      const [finding] = report.findings;
      assert.equal(
        finding,
        undefined,
        `seed ${seed}: ${finding?.message}\ninput: ${JSON.stringify(finding?.input)}`,
      );
    });

    it(`keeps inputs that are not too long to be tried: ${name}`, async () => {
      const target = await loadTarget(name);
      assert.equal(target.name, name);
      const kept = readCorpus(join(import.meta.dirname, "corpus", name));
      for (const { name: file, input } of kept) {
        assert.ok(input.length <= target.longest, `${file} is ${input.length} long`);
      }
    });
  }
});
