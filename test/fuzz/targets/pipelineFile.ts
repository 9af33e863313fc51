import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { projectRoot } from "../../../scripts/projectRoot.ts";
import { unshown } from "../../../src/contract/unshown.ts";
import { largestFile, type ParsedPipeline, parsePipeline } from "../../../src/pipeline/parsePipeline.ts";
import { isName, pipelineSchema } from "../../../src/pipeline/pipeline.ts";
import { templates } from "../../../src/pipeline/templates.ts";
import { must } from "../engine/broken.ts";
import type { Target } from "../engine/target.ts";
import { printedPipeline } from "./printedPipeline.ts";

const folder = join(projectRoot, "samples/pipelines");
const samples = readdirSync(folder).map((name) => readFileSync(join(folder, name), "utf8"));
const hidden = new RegExp(`[${unshown}]`, "u");

/** Some parts of the parser run for each part of the text, a hundred problems at the most for each of these. */
const stepsEach = 4000;

export const pipelineFileTarget: Target = {
  name: "pipeline-file",
  property:
    "a text is read or told what is wrong inside it, in bounded work; what is read means the same printed anew, with other line ends, behind a mark",
  covers: ["src/pipeline", "node_modules/yaml/dist"],
  seeds: [`${samples[0]}`, ...samples.slice(1), ...templates.map(({ text }) => text)],
  words: [
    "<<: ",
    "*a",
    "&a ",
    "!!str ",
    "!!binary ",
    "---\n",
    "...\n",
    "%YAML 1.1\n",
    "? ",
    "|-\n",
    ">+2\n",
    "/(a|b)+$/u",
  ],
  longest: 8 * 1024,
  mostSteps: ({ length }) => 60_000 + length * stepsEach,
  open: () => ({ check }),
};

function check(text: string): void {
  const parsed = parsePipeline(text, "a.yaml");
  if (parsed.kind === "invalid") checkProblems(text, parsed.problems);
  else checkPipeline(text, parsed);
  if (!text.startsWith("\ufeff") && text.length < largestFile) {
    must(
      isDeepStrictEqual(parsePipeline(`\ufeff${text}`, "a.yaml"), parsed),
      "a mark before the text changes nothing",
      () => text,
    );
  }
  if (!text.includes("\r")) checkLineEnds(text, parsed);
}

function checkProblems(
  text: string,
  problems: Extract<ParsedPipeline, { kind: "invalid" }>["problems"],
): void {
  const lines = text.replace(/^\ufeff/, "").split("\n");
  let before = { line: 0, column: 0 };
  must(problems.length <= 200, "problems are no more than a person looks at", () => problems.length);
  for (const problem of problems) {
    const { message, line, column } = problem;
    must(message !== "" && message.length < 400, "a message is short", () => problem);
    must(!hidden.test(message), "a message is one line of what can be shown", () => problem);
    must(line >= 1 && line <= lines.length, "a problem's line is in the text", () => ({
      problem,
      lines: lines.length,
    }));
    must(
      column >= 1 && column <= (lines[line - 1] ?? "").length + 1,
      "a problem's column is in its line",
      () => problem,
    );
    must(
      line > before.line || (line === before.line && column >= before.column),
      "problems are in the order of the file",
      () => problems,
    );
    before = problem;
  }
}

function checkPipeline(text: string, { pipeline, nameAt }: Extract<ParsedPipeline, { kind: "valid" }>): void {
  const sent: unknown = JSON.parse(JSON.stringify(pipeline));
  const received = pipelineSchema.safeParse(sent);
  must(received.success, "the runner's process reads what the service accepts", () => ({
    sent,
    error: received.error,
  }));
  must(
    isDeepStrictEqual(received.data, sent),
    "nothing of a pipeline is lost on the way to the runner",
    () => sent,
  );
  must(isName(pipeline.name), "a pipeline has a name that can be asked for", () => pipeline.name);
  must(
    nameAt.line >= 1 && nameAt.line <= text.split("\n").length,
    "the name's place is in the text",
    () => nameAt,
  );
  const printed = printedPipeline(text);
  const again = parsePipeline(printed, "a.yaml");
  must(again.kind === "valid", "what was accepted is accepted printed anew", () => ({ printed, again }));
  must(isDeepStrictEqual(again.pipeline, pipeline), "what was accepted means the same printed anew", () => ({
    printed,
    pipeline,
    again: again.pipeline,
  }));
}

function checkLineEnds(text: string, parsed: ParsedPipeline): void {
  const other = parsePipeline(text.replaceAll("\n", "\r\n"), "a.yaml");
  must(
    other.kind === parsed.kind || text.length * 2 > largestFile,
    "a text is accepted whatever its line ends",
    () => ({ parsed, other }),
  );
  if (parsed.kind === "valid" && other.kind === "valid") {
    must(
      isDeepStrictEqual(other.pipeline, parsed.pipeline),
      "line ends don't change what a text means",
      () => ({ parsed, other }),
    );
  }
}
