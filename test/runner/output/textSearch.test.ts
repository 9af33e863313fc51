import assert from "node:assert/strict";
import { createServer } from "node:http";
import { readTextExpectation } from "../../../src/pipeline/file/expectation.ts";
import { readableText } from "../../../src/runner/output/readableText.ts";
import { OutputSearch, PatternFault, searchFor } from "../../../src/runner/output/textSearch.ts";
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

  it("is found whichever kind of space it or the text has, as in a time of Intl or a price", () => {
    const [time, price] = ["3:05\u202fPM", "1\u202f234,50\u00a0€"];
    for (const written of ["at 3:05 PM", "/^at \\d:05 PM$/", `at ${time}`])
      for (const text of [`at ${time}`, "at 3:05 PM"])
        assert.equal(searchFor(expectationOf(written))(text), true, written);
    assert.equal(searchFor(expectationOf("1 234,50 €"))(`total: ${price}`), true);
    assert.equal(
      searchFor(expectationOf("/\\u202f234/"))(price),
      true,
      "a pattern may say which space it means",
    );
    assert.equal(searchFor(expectationOf("3:05PM"))(time), false);
  });

  it("is found over line ends of Windows, and as a block of YAML in a text without a line end at its end", () => {
    const isIn = searchFor(expectationOf("desk\nlamp\n"));
    for (const text of ["a\r\ndesk\r\nlamp\r\n", "desk\nlamp", "desk\nlamp\nb"])
      assert.equal(isIn(text), true, JSON.stringify(text));
    for (const text of ["desk\nlamps", "desk lamp\n", "desk\nlamp b"])
      assert.equal(isIn(text), false, JSON.stringify(text));
    const search = new OutputSearch(expectationOf("desk\nlamp\n"));
    for (const piece of ["de", "sk\r", "\nla", "mp"]) search.write(piece);
    assert.equal(search.end(), true);
    const stream = new OutputSearch(expectationOf("a\nb\nc"), true);
    for (const piece of ["a\r\n", "b\r\n", "c"]) stream.write(piece);
    assert.equal(stream.end(), true, "as it comes");
  });

  it("is found with its line end in no line that goes on", () => {
    const search = new OutputSearch(expectationOf("listening on 80\n"));
    search.write("listening on 80");
    assert.equal(search.soFar(), false);
    search.write("80\n");
    assert.equal(search.end(), false);
    const long = new OutputSearch(expectationOf("foo\n"));
    for (const piece of [`${"x".repeat(64 * 1024)}foo`, "bar\n"]) long.write(piece);
    assert.equal(long.end(), false, "cut within a line");
  });
});

describe("what a person reads of an output", () => {
  for (const [what, printed, read] of [
    [
      "a progress bar of Node.js",
      "\u001b[2K\u001b[1Gbuilt 10%\u001b[2K\u001b[1Gbuilt 100%\n",
      "built 100%\n",
    ],
    ["one that goes to the line's start without a number", "10%\u001b[G100%", "100%"],
    ["a spinner of backspaces", "solving: |\b/\b-\bdone\n", "solving: done\n"],
    ["one with colours", "\u001b[36m|\u001b[39m\b\u001b[36m/\u001b[39m\b done", " done"],
    ["one with colours behind a text", "a \u001b[36m|\u001b[0m\b\u001b[36m/\u001b[0m\bok", "a ok"],
    ["a backspace at the beginning", "\bdone", "done"],
    ["a heading of a manual", "N\bNA\bAM\bME\bE", "NAME"],
    ["what `wsl.exe` prints in UTF-16", "d\0o\0n\0e\0\r\0\n\0o\0k\0\r\0\n\0", "done\nok\n"],
    ["a jump to another column", "a\u001b[10Gb", "ab"],
  ] as const)
    it(`is its last state: ${what}`, () => assert.equal(readableText(printed), read));
});

describe("a pattern of a pipeline file", () => {
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
