import assert from "node:assert/strict";
import type { Page } from "playwright-core";

/** An element of an XML document. */
export interface Element {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: readonly Element[];
  /** Its own, without that of its children. */
  readonly text: string;
}

/** Parses XML as Chromium does, which takes no mistake. */
export async function parseXml(page: Page, text: string): Promise<Element> {
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
export function checkJunit(root: Element): void {
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

export function casesOf(suite: Element): readonly Element[] {
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
