import { stripEscapeSequences } from "../../text/escapeSequences.ts";
import type { ReportedRun, StepLog } from "./reportedRuns.ts";

/**
 * Runs as JUnit XML according to Jenkins' `junit-10.xsd`: a suite per run and a testcase per step. A run that did not succeed has
 * at least one failure or error, whatever its steps say: if none of them has one, the run itself gets a testcase.
 */
export function junitReport(runs: readonly ReportedRun[]): string {
  const suites = runs.map(suiteOf);
  const all = suites.flatMap(({ cases }) => cases);
  const time = seconds(suites.reduce((sum, suite) => sum + suite.milliseconds, 0));
  const { tests, failures, errors } = countsOf(all);
  const lines = [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `${tag("testsuites", { name: "pipeline", tests, failures, errors, time })}>`,
    ...suites.map(({ text }) => text),
    "</testsuites>",
  ];
  return lines.join("\n");
}

interface Case {
  readonly kind: "passed" | "failure" | "error" | "skipped";
  readonly name: string;
  /** The status of the step, or of its run. */
  readonly type: string;
  readonly milliseconds: number;
  readonly problem: string;
  readonly log?: StepLog | undefined;
}

function suiteOf({ pipeline, run, problem, logs }: ReportedRun) {
  const takeName = distinctNames();
  const cases = (run?.steps ?? []).map((step, index): Case => {
    const { status: type, message, startedAt, stoppedAt } = step;
    return {
      kind: kinds[type] ?? "error",
      name: takeName(step.name),
      type,
      milliseconds: between(startedAt, stoppedAt ?? run?.stoppedAt),
      problem: message ?? problem ?? type,
      log: logs.get(index),
    };
  });
  const isRed = cases.some(({ kind }) => kind === "failure" || kind === "error");
  if (problem !== undefined && !isRed) {
    const type = run?.status ?? "no-result";
    cases.push({ kind: "error", name: takeName("(the run)"), type, milliseconds: 0, problem });
  }
  const milliseconds = between(run?.createdAt, run?.stoppedAt);
  const timestamp = run?.createdAt && new Date(run.createdAt).toISOString().slice(0, 19);
  const facts = { ...countsOf(cases), time: seconds(milliseconds), timestamp, hostname: run?.runner };
  const text = [
    `${tag("testsuite", { name: pipeline, ...facts })}>`,
    ...propertiesOf(run),
    ...cases.map((each) => caseText(pipeline, each)),
    "</testsuite>",
  ].join("\n");
  return { cases, milliseconds, text };
}

/** A step that was stopped by the run's end, or has an unknown status, is an error. */
const kinds: Readonly<Record<string, Case["kind"]>> = {
  succeeded: "passed",
  skipped: "skipped",
  "not-reached": "skipped",
  failed: "failure",
};

function propertiesOf(run: ReportedRun["run"]): string[] {
  if (run === undefined) return [];
  const { runId, status, project, inputs = {}, steps = [] } = run;
  const properties: [string, unknown][] = [
    ["run-id", runId],
    ["status", status],
    ["project", project],
    ...Object.entries(inputs).map(([name, value]): [string, unknown] => [`input.${name}`, value]),
    ...steps.map(({ name, attempts }): [string, unknown] => [`attempts.${name}`, attempts]),
  ];
  const lines = properties.flatMap(([name, value]) =>
    value === undefined ? [] : [`${tag("property", { name, value })}/>`],
  );
  return ["<properties>", ...lines, "</properties>"];
}

function caseText(classname: string, { kind, name, type, milliseconds, problem, log }: Case): string {
  const [message = ""] = problem.split("\n");
  const ends = {
    passed: [],
    // Empty: GitLab accepts it only without a text and attributes.
    skipped: ["<skipped/>"],
    // The element also holds the whole text: GitLab shows that, and no attribute.
    failure: [`${tag("failure", { message, type })}>${escapeText(problem)}</failure>`],
    error: [`${tag("error", { message, type })}>${escapeText(problem)}</error>`],
  };
  return [
    `${tag("testcase", { classname, name, time: seconds(milliseconds) })}>`,
    ...ends[kind],
    ...(log === undefined ? [] : [`<system-out>${escapeText(logText(log))}</system-out>`]),
    "</testcase>",
  ].join("\n");
}

function logText({ lines, leftOut }: StepLog): string {
  const texts = lines.map(
    ({ stream, text }) => `${stream === "note" ? "# " : ""}${stripEscapeSequences(text)}`,
  );
  return [...(leftOut === 0 ? [] : [`# ${leftOut} lines before are left out`]), ...texts].join("\n");
}

/** GitLab treats two testcases of the same name as one. */
function distinctNames(): (name: string) => string {
  const taken = new Set<string>();
  return (name) => {
    let free = name;
    for (let count = 2; taken.has(free); count += 1) free = `${name} (${count})`;
    taken.add(free);
    return free;
  };
}

function countsOf(cases: readonly Case[]) {
  const of = (kind: Case["kind"]) => cases.filter((each) => each.kind === kind).length;
  return { tests: cases.length, failures: of("failure"), errors: of("error"), skipped: of("skipped") };
}

function between(from: string | undefined, to: string | undefined): number {
  return from === undefined || to === undefined ? 0 : Math.max(0, Date.parse(to) - Date.parse(from));
}

function seconds(milliseconds: number): string {
  return (milliseconds / 1000).toFixed(3);
}

/** An opening tag without its closing bracket. */
function tag(name: string, attributes: Readonly<Record<string, unknown>>): string {
  const given = Object.entries(attributes).filter(([, value]) => value !== undefined);
  return `<${name}${given.map(([key, value]) => ` ${key}="${escapeAttribute(String(value))}"`).join("")}`;
}

/** Characters that XML 1.0 doesn't allow, even escaped. */
const forbidden = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;

/** Escapes `>` because of `]]>`, and carriage returns because a parser would drop them. */
function escapeText(text: string): string {
  return text.replace(forbidden, "\ufffd").replace(/[&<>\r]/g, reference);
}

/** Also escapes line breaks and tabs, which a parser would turn into spaces. */
function escapeAttribute(text: string): string {
  return escapeText(text).replace(/["\n\t]/g, reference);
}

function reference(character: string): string {
  return `&#${character.charCodeAt(0)};`;
}
