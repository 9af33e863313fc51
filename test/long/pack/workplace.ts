import { mkdir, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { execa } from "execa";
import { ensureChromium } from "../../../scripts/chromium.ts";
import { sayToStandardError } from "../../../scripts/say.ts";
import type { ToolEnd } from "../../cli/toolbox.ts";
import { LoopbackService } from "../../client/loopbackService.ts";
import { endProcessesOf } from "../../endProcessesOf.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";

/**
 * Where someone installs the tool and works with it: a home of their own, a project with the pipeline `every`, whose steps
 * are of all four types, and nothing of this repository. The paths have a space in them.
 */
export async function workplace() {
  const folder = await TemporaryFolder.make("pipeline runs");
  const [home, data, project, installed] = ["home", "data", "project", "installed"].map((name) =>
    join(folder.path, name),
  ) as [string, string, string, string];
  for (const each of [home, installed, join(project, "pipelines")]) await mkdir(each, { recursive: true });
  const server = await LoopbackService.listen((_, response) =>
    response.setHeader("content-type", "text/html").end("<title>Home</title><p>it answers"),
  );
  const executable = await ensureChromium(sayToStandardError, new AbortController().signal);
  await writeFile(join(project, "pipelines", "every.yaml"), everyType(server.origin, executable));
  const env = {
    ...Object.fromEntries(
      Object.entries(process.env).filter(([name]) => !/^(npm_|NODE_|PIPELINE_(?!RUNS_)|XDG_)/i.test(name)),
    ),
    HOME: home,
    LOCALAPPDATA: home,
    PIPELINE_DATA_DIR: data,
    // Nothing of the repository's own node_modules/.bin, but this Node.
    PATH: [
      dirname(process.execPath),
      ...(process.env["PATH"] ?? "").split(delimiter).filter((part) => !part.includes("node_modules")),
    ].join(delimiter),
  };
  return {
    home,
    data,
    project,
    installed,
    env,
    /** Starts a program in the project, or in another folder. */
    async run(
      program: string,
      args: readonly string[],
      at: { folder?: string; env?: object } = {},
    ): Promise<ToolEnd> {
      const { exitCode, stdout, stderr } = await execa(program, args, {
        cwd: at.folder ?? project,
        env: { ...env, ...at.env },
        extendEnv: false,
        reject: false,
        stdin: "ignore",
      });
      return { exitCode, stdout, stderr };
    },
    async [Symbol.asyncDispose]() {
      await endProcessesOf(data);
      await server[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

function everyType(origin: string, executable: string): string {
  return `time-limit: 2m
resources:
  shell: { type: cli }
  web: { type: http, base-url: ${JSON.stringify(origin)} }
  books: { type: sql, url: "sqlite::memory:" }
  chrome: { type: browser, base-url: ${JSON.stringify(origin)}, executable: ${JSON.stringify(executable)}, timeout: 60s }
steps:
  - { name: a program, use: shell, run: [node, --version] }
  - { name: a request, use: web, get: /, expect: { status: 200 } }
  - { name: a query, use: books, query: select 1 as one, expect: { rows: [{ one: 1 }] } }
  - { name: a page, use: chrome, goto: /, expect: { title: Home } }
`;
}
