import assert from "node:assert/strict";
import fc from "fast-check";
import type { Page } from "playwright-core";
import { junitReport } from "../../../src/cli/report/junit.ts";
import type { ReportedRun } from "../../../src/cli/report/reportedRuns.ts";
import { stripEscapeSequences } from "../../../src/text/escapeSequences.ts";
import { inBrowser } from "../../page/inBrowser.ts";
import { logOf, reported } from "./reported.ts";

/** `name: kind` of each testcase. */
function told(suite: Element | undefined): string[] {
  assert(suite !== undefined);
  return casesOf(suite).map(({ attributes, children }) => {
    const kind = children.find(({ name }) => name !== "system-out")?.name ?? "passed";
    return `${attributes["name"]}: ${kind}`;
  });
}

describe("a report in JUnit XML", () => {
  const open = inBrowser();

  async function suitesOf(...runs: readonly ReportedRun[]): Promise<readonly Element[]> {
    await using screen = await open();
    const root = await parseXml(screen.page, junitReport(runs));
    checkJunit(root);
    return root.children;
  }

  it("is a suite a run and a testcase a step, with times, what it was given, and why a step failed", async () => {
    const inputs = { region: "eu", lamps: 2, note: "two\nlines\tand a tab" };
    const [suite] = await suitesOf(
      reported(
        { inputs },
        { logs: new Map([[1, logOf(["\u001b[31mhot\u001b[0m", "hotter"], "stdout", 3)]]) },
      ),
    );
    assert.deepEqual(suite?.attributes, {
      name: "shop",
      tests: "3",
      failures: "1",
      errors: "0",
      skipped: "1",
      time: "4.000",
      timestamp: "2026-03-04T12:00:00",
      hostname: "ci-7",
    });
    assert.deepEqual(told(suite), ["build: passed", "check: failure", "late: skipped"]);
    const properties = suite.children[0]?.children.map(({ attributes }) => Object.values(attributes));
    assert.deepEqual(properties, [
      ["run-id", "run_1"],
      ["status", "failed"],
      ["project", "p"],
      ["input.region", "eu"],
      ["input.lamps", "2"],
      ["input.note", "two\nlines\tand a tab"],
      ["attempts.build", "2"],
    ]);
    const check = casesOf(suite)[1];
    assert.deepEqual(check?.attributes, { classname: "shop", name: "check", time: "2.500" });
    const [failure, output] = check.children;
    assert.equal(failure?.attributes["message"], "exited with 7, expected 0:");
    assert.equal(failure.text, "exited with 7, expected 0:\nthe disk is on fire");
    assert.equal(output?.text, "# 3 lines before are left out\nhot\nhotter");
  });

  it("has an error for a step that the run's end has stopped, which says why", async () => {
    const steps = [{ name: "wait", type: "cli", status: "stopped" }];
    const problem = "reached its time limit of 2 s";
    const [suite] = await suitesOf(reported({ status: "timed-out", steps }, { problem }));
    assert.deepEqual(told(suite), ["wait: error"]);
    assert.equal(suite && casesOf(suite)[0]?.children[0]?.text, problem);
  });

  it("is never green for a run that did not succeed, nor for one that isn't there", async () => {
    const steps = [{ name: "(the run)", type: "cli", status: "succeeded" }];
    const ends: ReportedRun[] = [
      reported({ status: "timed-out", steps }, { problem: "reached its time limit" }),
      reported({ status: "cancelled", steps }, { problem: "cancelled by key_1" }),
      reported({ status: "lost", steps: [] }, { problem: "its runner is gone" }),
      reported({ status: "running", steps: undefined }, { problem: "The run is still running." }),
      reported({ status: "something-new", steps }, { problem: "something-new" }),
      { pipeline: "refused", run: undefined, problem: "all of today's runs are used", logs: new Map() },
    ];
    const suites = await suitesOf(...ends);
    assert.deepEqual(
      suites.map((suite) => casesOf(suite).at(-1)?.children[0]?.attributes),
      ends.map(({ problem, run }) => ({ message: problem, type: run?.status ?? "no-result" })),
    );
    assert.deepEqual(told(suites[0]), ["(the run): passed", "(the run) (2): error"]);
    assert.equal(suites.at(-1)?.attributes["name"], "refused");
  });

  it("is all green for runs that succeeded, and tells steps of one name apart", async () => {
    const step = { name: "get", type: "http", status: "succeeded" };
    const run = reported({ status: "succeeded", steps: [step, step, step] }, { problem: undefined });
    const [one, other] = await suitesOf(run, run);
    for (const suite of [one, other]) {
      assert.deepEqual(told(suite), ["get: passed", "get (2): passed", "get (3): passed"]);
    }
  });

  it("can be read whatever a run holds, and gives it back but for what XML has no place for", async () => {
    const texts = fc.sample(fc.string({ unit: "binary", maxLength: 12 }), { numRuns: 300, seed: 7 });
    const wild = [
      "]]>",
      "<![CDATA[",
      "&amp;",
      "\u0000\u0008\u000b\ufffe\uffff",
      "\ud800x",
      "a\r\nb\rc",
      "\"'<>",
    ];
    const all = [...wild, ...texts.filter((text) => text.trim() !== "")];
    const kept = (text: string) =>
      text.replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "\ufffd");
    const steps = all.map((message, index) => ({
      name: `${index} ${message}`,
      type: "cli",
      status: "failed",
      message,
    }));
    const logs = new Map(all.map((text, index) => [index, logOf([stripEscapeSequences(text)])]));
    const [suite] = await suitesOf(reported({ pipeline: wild.join(" "), steps }, { logs }));
    assert(suite !== undefined);
    assert.equal(suite.attributes["name"], kept(wild.join(" ")));
    for (const [index, { attributes, children }] of casesOf(suite).entries()) {
      assert.equal(attributes["name"], kept(`${index} ${all[index]}`));
      assert.equal(children[0]?.text, kept(all[index] ?? ""));
    }
  });
});

/** An element of an XML document. */
interface Element {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: readonly Element[];
  /** Its own, without that of its children. */
  readonly text: string;
}

/** Parses XML as Chromium does, which takes no mistake. */
async function parseXml(page: Page, text: string): Promise<Element> {
  const parse = `(text) => {
    const read = (element) => ({
      name: element.nodeName,
      attributes: Object.fromEntries([...element.attributes].map(({ name, value }) => [name, value])),
      children: [...element.children].map(read),
      text: [...element.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data).join(""),
    });
    const document = new DOMParser().parseFromString(text, "application/xml");
    const mistake = document.querySelector("parsererror");
    if (mistake !== null) throw new Error(mistake.textContent);
    return read(document.documentElement);
  }`;
  return page.evaluate<Element>(`(${parse})(${JSON.stringify(text)})`);
}

interface Rule {
  readonly required: readonly string[];
  readonly optional: readonly string[];
  readonly children: readonly string[];
}

/** What the schema `junit-10` of Jenkins allows of the elements in a report; text stands in those of `withText` alone. */
const rules: Readonly<Record<string, Rule>> = {
  testsuites: {
    required: [],
    optional: ["name", "time", "tests", "failures", "errors"],
    children: ["testsuite"],
  },
  testsuite: {
    required: ["name", "tests", "failures", "errors"],
    optional: ["time", "skipped", "timestamp", "hostname"],
    children: ["properties", "testcase"],
  },
  properties: { required: [], optional: [], children: ["property"] },
  property: { required: ["name", "value"], optional: [], children: [] },
  testcase: {
    required: ["name"],
    optional: ["classname", "time"],
    children: ["failure", "error", "skipped", "system-out"],
  },
  failure: { required: [], optional: ["type", "message"], children: [] },
  error: { required: [], optional: ["type", "message"], children: [] },
  skipped: { required: [], optional: ["type", "message"], children: [] },
  "system-out": { required: [], optional: [], children: [] },
};
const withText = ["failure", "error", "skipped", "system-out"];

/** Checks a report by the rules, and its numbers by its testcases; of each there is one name. */
function checkJunit(root: Element): void {
  assert.equal(root.name, "testsuites");
  checkElement(root);
  checkCounts(root, root.children.flatMap(casesOf));
  for (const suite of root.children) {
    const cases = casesOf(suite);
    checkCounts(suite, cases);
    const names = cases.map(({ attributes }) => `${attributes["classname"]} ${attributes["name"]}`);
    assert.equal(new Set(names).size, names.length, "GitLab needs names that differ");
  }
}

function casesOf(suite: Element): readonly Element[] {
  return suite.children.filter(({ name }) => name === "testcase");
}

function checkElement({ name, attributes, children, text }: Element): void {
  const rule = rules[name];
  assert(rule !== undefined, name);
  for (const each of rule.required) assert(each in attributes, `${name} ${each}`);
  for (const each of Object.keys(attributes)) {
    assert([...rule.required, ...rule.optional].includes(each), `${name} ${each}`);
  }
  if (attributes["time"] !== undefined) assert.match(attributes["time"], /^\d+\.\d{3}$/);
  if (!withText.includes(name)) assert.equal(text.trim(), "", name);
  for (const child of children) {
    assert(rule.children.includes(child.name), `${child.name} in ${name}`);
    checkElement(child);
  }
}

function checkCounts({ name, attributes }: Element, cases: readonly Element[]): void {
  const count = (kind: string) =>
    cases.filter(({ children }) => children.some((child) => child.name === kind)).length;
  assert.equal(attributes["tests"], String(cases.length), name);
  assert.equal(attributes["failures"], String(count("failure")), name);
  assert.equal(attributes["errors"], String(count("error")), name);
  if (name === "testsuite") assert.equal(attributes["skipped"], String(count("skipped")));
}
