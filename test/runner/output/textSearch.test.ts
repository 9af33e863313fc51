import assert from "node:assert/strict";
import { createServer } from "node:http";
import { readTextExpectation } from "../../../src/pipeline/file/expectation.ts";
import { OutputSearch } from "../../../src/runner/output/outputSearch.ts";
import { PatternFault, searchFor } from "../../../src/runner/output/textSearch.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";
import { launchTestRun, pipelineOf } from "../launch/launchTestRun.ts";

// Without an end to a match, each of these would take longer than the universe is old.
const hostile = `${"a".repeat(5000)}!`;
const slow =
  "the pattern /^(a+)+$/ took longer than 1 s on this text; write it without repetition within repetition";

describe("a text that is expected", () => {
  // As editors write it, and as macOS names files: nobody sees a difference.
  const forms = ["caf\u00e9", "cafe\u0301"];

  it("is found whether a letter is one character or two", () => {
    for (const written of [...forms, ...forms.map((form) => `/^to the ${form}$/`)]) {
      const isIn = searchFor(expectationOf(written));
      for (const form of forms) assert.equal(isIn(`on the way\nto the ${form}`), true, written);
      assert.equal(isIn("to the cafe"), false, written);
    }
    // An accent alone, which joins the letter before it.
    for (const written of ["\u0301 is", "/\u0301 is/"])
      assert.equal(searchFor(expectationOf(written))("cafe\u0301 is"), true, written);
  });

  it("is found so in an output that comes in pieces, over the end of a line too", () => {
    for (const form of forms) {
      const search = new OutputSearch(expectationOf("\u00e9\u00e9\n\u00e9"));
      for (const letter of `${form} ${"e\u0301".repeat(2)}\n${form.slice(3)} is there\n`)
        search.write(letter);
      assert.equal(search.end(), true, form);
    }
  });
});

describe("a pattern of a pipeline file", function () {
  this.timeout(60_000);
  const folder = temporaryFolder();

  it("is interrupted when it takes too long on one text, and then looks at the next", () => {
    const isIn = searchFor(expectationOf("/^(a+)+$/"));
    assert.throws(() => isIn(`aab\n${hostile}`), { name: "PatternFault", message: slow });
    assert.equal(isIn("b\naaa\nb"), true);
    assert.equal(isIn("b"), false);
  });

  it("is told from one that is too large to be matched at all, which ends no runner either", async () => {
    const groups = `/${"(".repeat(20_000)}${")".repeat(20_000)}/`;
    const search = new OutputSearch(expectationOf(groups));
    search.write("a\n");
    assert.throws(() => search.end(), {
      name: "PatternFault",
      message: `the pattern /${"(".repeat(59)}… is too large to be matched; write a shorter one`,
    });
  });

  it("that takes too long on a part of an output has failed for all of it", () => {
    const search = new OutputSearch(expectationOf("/^(a+)+$/"));
    search.write(`${hostile}\n`);
    search.write("aaa\n");
    assert.throws(() => search.end(), PatternFault);
  });

  it("fails a cli step that it takes too long for, and says what to do", async () => {
    const { job } = launchTestRun(
      folder.path,
      pipelineOf({
        resources: { sh: { type: "cli" } },
        steps: [
          {
            name: "slow",
            use: "sh",
            run: [process.execPath, "-e", `console.log("a".repeat(5000) + "!")`],
            expect: { output: "/^(a+)+$/" },
          },
        ],
      }),
    );
    assert.deepEqual(await job.ended, { kind: "failed", message: `slow: ${slow}` });
  });

  it("fails an http step that it takes too long for, in the body and in a header", async () => {
    const site = createServer((_request, response) => response.setHeader("x-text", hostile).end(hostile));
    await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
    const address = site.address();
    const port = typeof address === "object" ? address?.port : undefined;
    try {
      for (const expect of [{ text: "/^(a+)+$/" }, { headers: { "x-text": "/^(a+)+$/" } }]) {
        const { job } = launchTestRun(
          folder.path,
          pipelineOf({
            resources: { web: { type: "http", "base-url": `http://127.0.0.1:${port}` } },
            steps: [{ name: "slow", use: "web", get: "/", expect }],
          }),
        );
        assert.deepEqual(await job.ended, { kind: "failed", message: `slow: ${slow}` });
      }
    } finally {
      site.close();
    }
  });
});

function expectationOf(text: string) {
  const read = readTextExpectation(text);
  return read.kind === "valid" ? read.expectation : assert.fail(read.problem);
}
