import { join } from "node:path";
import { t } from "@vscode/l10n";
import { isActive } from "../../contract/run.ts";
import { momentText, statusText } from "../window/runText.ts";
import type { FileNode, PipelineNode, ProblemNode, ProjectNode } from "./pipelineTree.ts";
import { type Row, type Seen, statusIcon, type TooltipLine } from "./runRow.ts";

/** The row of an element of the Pipelines view. */
export function pipelineViewRow(node: PipelineNode, seen: Seen): Row {
  switch (node.kind) {
    case "project":
      return projectRow(node);
    case "file":
      return fileRow(node, seen);
    case "problem":
      return problemRow(node);
    default:
      return node satisfies never;
  }
}

/** The tooltip of a pipeline file: where it is, its last result, its problems. */
export function fileTooltip({ pipeline, path, problems, last }: FileNode): readonly TooltipLine[] {
  return [
    { name: pipeline, text: path },
    ...(last === undefined
      ? []
      : [{ name: t("Last run"), text: `${statusText(last.status)} (${last.runId})` }]),
    ...problems.map(({ problem }) => ({ text: `${problem.line}:${problem.column} ${problem.message}` })),
  ];
}

function projectRow({ root, name }: ProjectNode): Row {
  return {
    id: `projects/${root}`,
    label: name,
    description: root,
    icon: { id: "root-folder" },
    folding: "expanded",
    tokens: ["project"],
    spoken: t("Project {0}", name),
  };
}

function fileRow({ root, path, pipeline, problems, last }: FileNode, seen: Seen): Row {
  const [first] = problems;
  const open = { kind: "open", file: join(root, path) } as const;
  const id = `pipelines/${root}/${path}`;
  if (first !== undefined) {
    const count = problems.length;
    const { message } = first.problem;
    return {
      id,
      label: pipeline,
      description: count === 1 ? message : t("{0} (and {1} more)", message, count - 1),
      icon: { id: "warning", color: "list.warningForeground" },
      folding: "collapsed",
      tokens: ["pipeline", "broken"],
      spoken:
        count === 1
          ? t("{0}, can't be run: {1}", pipeline, message)
          : t("{0}, can't be run, {1} problems, the first: {2}", pipeline, count, message),
      action: open,
    };
  }
  const result = last === undefined ? undefined : resultText(last, seen);
  return {
    id,
    label: pipeline,
    ...(result === undefined ? {} : { description: result }),
    icon: last === undefined ? { id: "circle-large-outline" } : statusIcon(last),
    folding: "none",
    tokens: ["pipeline", "fine"],
    spoken:
      result === undefined ? t("{0}, no run known", pipeline) : t("{0}, last run {1}", pipeline, result),
    action: open,
  };
}

function problemRow({ root, path, index, problem }: ProblemNode): Row {
  const { line, column, message } = problem;
  return {
    id: `pipelines/${root}/${path}/problems/${index}`,
    label: message,
    description: `${line}:${column}`,
    icon: { id: "circle-small" },
    folding: "none",
    tokens: ["problem"],
    spoken: t("Line {0}, column {1}: {2}", line, column, message),
    action: { kind: "open", file: join(root, path), line, column },
  };
}

function resultText(last: NonNullable<FileNode["last"]>, { serviceNow, now }: Seen): string {
  const status = statusText(last.status);
  const at = last.stoppedAt ?? last.createdAt;
  if (isActive(last) || at === undefined) return status;
  const when = momentText(Date.parse(at) - (serviceNow - now), now);
  return t("{0}, {1}", status, when);
}
