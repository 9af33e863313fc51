import { pathToFileURL } from "node:url";
import { aborted, format } from "node:util";
import { ServedEditor } from "../served/servedEditor.ts";
import type { InHostOptions } from "./inHostOptions.ts";
import { linePrefixVariable } from "./linePrefix.ts";

const linePrefix = "\u2502";

/**
 * Runs a suite inside the extension host of the VS Code from npm, with the suite's report on standard output.
 * @returns 0 when every test passed.
 * @throws with all that VS Code wrote, when the suite doesn't load or doesn't end in time.
 */
export async function runServed(options: InHostOptions, signal: AbortSignal): Promise<number> {
  const { extensionFolder, suite, timeoutMilliseconds = 300_000, env = {}, ...rest } = options;
  await using editor = await ServedEditor.start(
    { ...rest, env: { ...env, [linePrefixVariable]: linePrefix }, smoke: true },
    signal,
  );
  const { page, server } = editor;
  const { promise: ended, resolve: end } = Promise.withResolvers<number>();
  const written: string[] = [];
  let reported = false;
  // VS Code in a browser calls these two where a desktop one would exit and write to its output.
  await page.exposeFunction("codeAutomationExit", (exitCode: number) => end(exitCode));
  await page.exposeFunction("codeAutomationLog", (kind: string, line: unknown[] = []) => {
    const text = format(...line);
    written.push(`${kind}: ${text}`);
    const report = text.indexOf(linePrefix);
    if (report < 0) return;
    reported = true;
    process.stdout.write(`${text.slice(report + linePrefix.length)}\n`);
  });
  await page.goto(
    server.address(editor.folder, { payload: testPayload(server.port, extensionFolder, suite) }),
  );
  const patience = AbortSignal.any([signal, AbortSignal.timeout(timeoutMilliseconds)]);
  const exitCode = await Promise.race([
    ended,
    server.exited.then(() => undefined),
    aborted(patience, patience),
  ]);
  signal.throwIfAborted();
  if (exitCode === 0 || (exitCode !== undefined && reported)) return exitCode;
  const whatHappened = exitCode === undefined ? "did not end" : "did not start";
  throw new Error(
    `The tests inside the editor ${whatHappened}. VS Code wrote:\n${written.join("\n")}\n${server.output}`,
  );
}

/** What VS Code reads from its address where a desktop one reads its command line. */
function testPayload(port: number, extensionFolder: string, suite: string): string {
  const remote = (path: string) => `vscode-remote://127.0.0.1:${port}${pathToFileURL(path).pathname}`;
  return JSON.stringify([
    ["extensionDevelopmentPath", remote(extensionFolder)],
    ["extensionTestsPath", remote(suite)],
    ["skipWelcome", "true"],
    ["skipReleaseNotes", "true"],
  ]);
}
