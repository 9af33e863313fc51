import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { execa } from "execa";
import { runLine } from "../../src/cli/start.ts";
import { endProcessesOf } from "../endProcessesOf.ts";
import { toolPath } from "../service/programs.ts";
import { startedService } from "../service/startedService.ts";
import { TemporaryFolder } from "../temporaryFolder.ts";

export interface ToolEnd {
  readonly exitCode: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

export type Toolbox = Awaited<ReturnType<typeof toolbox>>;

/**
 * A project's folder to stand in, a data folder of its own, and the real tool as a process.
 * @param service that this machine has already, instead of one that the tool starts: a process less for each test.
 */
export async function toolbox(service?: { readonly data: string }) {
  const own = service === undefined ? await TemporaryFolder.make() : undefined;
  const data = own?.path ?? service?.data ?? "";
  const project = await TemporaryFolder.make();
  await mkdir(join(project.path, "pipelines"));
  const env: Record<string, string | undefined> = {
    PIPELINE_DATA_DIR: data,
    PIPELINE_BASE_URL: undefined,
    PIPELINE_API_KEY: undefined,
    // Nothing of whoever runs the tests: nobody has logged in here.
    PIPELINE_CONFIG_DIR: join(data, "config"),
  };
  /** The tool, running: its streams can be read and it can be sent signals. */
  const spawn = (
    args: readonly string[],
    more: Record<string, string | undefined> = {},
    folder = project.path,
  ) =>
    execa(process.execPath, [toolPath, ...args], {
      cwd: folder,
      env: { ...env, ...more },
      reject: false,
      stdin: "ignore",
    });
  return {
    path: toolPath,
    /** What tells a tool to use this service. */
    env,
    data,
    project: project.path,
    spawn,
    write: (name: string, text: string) => writeFile(join(project.path, "pipelines", `${name}.yaml`), text),
    async run(args: readonly string[], more: Record<string, string | undefined> = {}): Promise<ToolEnd> {
      const { exitCode, stdout, stderr } = await spawn(args, more);
      return { exitCode, stdout, stderr };
    },
    /** What the tool does with this line, in the process of the tests: a tenth of what {@link run} costs. */
    call: (
      args: readonly string[],
      more: Readonly<Record<string, string | undefined>> = {},
      folder = project.path,
    ) => calledTool(args, { ...process.env, ...env, ...more }, folder),
    /** Ends what still works in the data folder, as the service that the tool has started for itself. */
    async [Symbol.asyncDispose]() {
      if (own !== undefined) await endProcessesOf(own.path);
      await own?.[Symbol.asyncDispose]();
      await project[Symbol.asyncDispose]();
    },
  };
}

/** A toolbox whose machine has its service in this process, which costs less than one that the tool starts. */
export async function servedToolbox() {
  // Newer than the tool, which would start its own in place of an older one.
  const service = await startedService({ version: "999.0.0" });
  const box = await toolbox(service);
  return {
    ...box,
    service,
    async [Symbol.asyncDispose]() {
      await box[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
    },
  };
}

/** Resolves once what the process has written matches. The stream stays open for what comes after. */
export function written(stream: Readable | null, pattern: RegExp): Promise<RegExpExecArray> {
  let text = "";
  return new Promise((resolve, reject) => {
    stream?.on("data", (chunk: unknown) => {
      text += String(chunk);
      const found = pattern.exec(text);
      if (found !== null) resolve(found);
    });
    stream?.once("end", () => reject(new Error(`it ended having written: ${text}`)));
  });
}

const never = new AbortController().signal;

/** The tool's command line, in the process of the tests: for what a process of its own adds nothing to. */
async function calledTool(
  line: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  folder: string,
) {
  const printed = { stdout: "", stderr: "" };
  const to = (name: keyof typeof printed) => ({
    write: (text: string) => {
      printed[name] += text;
      return true;
    },
  });
  const exitCode = await runLine(line, {
    version: "0.0.0",
    programs: join(import.meta.dirname, "../../dist"),
    env,
    folder,
    out: to("stdout"),
    err: to("stderr"),
    unread: never,
    exitCode: (code) => code,
  });
  return {
    // Left as it is, which is 0 in a process.
    exitCode: exitCode ?? 0,
    stdout: printed.stdout.replace(/\n$/, ""),
    stderr: printed.stderr.replace(/\n$/, ""),
  };
}
