import { open, readFile, realpath, rm, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { describeError, PipelineError } from "../../contract/errors.ts";
import { systemClock } from "../../machine/clock.ts";
import { freshName, replaceFile } from "../../machine/privateFile.ts";
import { codeOf } from "../../project/systemErrors.ts";
import type { Tool } from "../tool.ts";
import type { ReportedRun } from "./reportedRuns.ts";

/** The reports that a command line asks for: a file for each, or `-` for standard output. */
export interface WantedReports {
  readonly junit?: string | undefined;
  readonly html?: string | undefined;
}

interface Report {
  readonly kind: keyof WantedReports;
  /** Undefined for standard output. */
  readonly path: string | undefined;
}

/**
 * Opens the reports of one command, whose files were found to be writable.
 * @param canPrint whether standard output is free for a report.
 * @returns undefined if none is wanted.
 * @throws PipelineError `usage` for a report that can't be written.
 */
export async function openReports(
  { output, folder, programs }: Tool,
  wanted: WantedReports,
  canPrint: boolean,
) {
  const reports: Report[] = [];
  for (const kind of ["junit", "html"] as const) {
    const named = wanted[kind];
    if (named === undefined) continue;
    if (named === "-" && (!canPrint || output.json)) {
      throw new PipelineError("usage", `--${kind} - would mix with the result on standard output.`, {
        next: `Name a file, as in --${kind} report.${kind === "junit" ? "xml" : "html"}.`,
      });
    }
    const path = named === "-" ? undefined : await writablePath(resolve(folder, named), kind);
    if (reports.some((other) => other.path === path)) {
      throw new PipelineError("usage", "--junit and --html can't be written to the same place.", {
        next: "Name a file for each.",
      });
    }
    reports.push({ kind, path });
  }
  if (reports.length === 0) return undefined;
  return {
    /** Whether a report replaces the result on standard output. */
    isPrinted: reports.some(({ path }) => path === undefined),
    /** Writes each report; warns if one can't be written. @returns whether all were written. */
    async write(runs: readonly ReportedRun[]): Promise<boolean> {
      let isDone = true;
      for (const { kind, path } of reports) {
        try {
          const text = await textOf(kind, runs, programs);
          if (path === undefined) output.line(text);
          else await replaceFile(path, `${text}\n`);
        } catch (error) {
          isDone = false;
          output.warn(`the report ${path ?? "on standard output"} can't be written: ${describeError(error)}`);
        }
      }
      return isDone;
    },
  };
}

async function textOf(kind: Report["kind"], runs: readonly ReportedRun[], programs: string): Promise<string> {
  if (kind === "junit") return (await import("./junit.ts")).junitReport(runs);
  const { htmlReport } = await import("./html.ts");
  const style = await readFile(join(programs, "page", "page.css"), "utf8");
  return htmlReport(runs, style, systemClock.now());
}

/**
 * The path to write to. A link of that name is kept, and its target is written.
 * @throws PipelineError `usage` if no file can be written there, or if something other than a file exists.
 */
async function writablePath(named: string, kind: Report["kind"]): Promise<string> {
  try {
    const path = await realpath(named).catch(() => named);
    const found = await stat(path).catch(() => undefined);
    if (found?.isFile() === false) throw new Error("it is there and is no plain file");
    const fresh = freshName(path);
    const file = await open(fresh, "wx");
    await file.close();
    await rm(fresh);
    return path;
  } catch (cause) {
    const code = codeOf(cause);
    const why = code === "ENOENT" ? "its folder doesn't exist" : (code ?? describeError(cause));
    throw new PipelineError("usage", `--${kind}: ${named} can't be written: ${why}.`, {
      cause,
      next: "Name a file in a folder that you may write to.",
    });
  }
}
