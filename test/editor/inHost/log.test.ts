import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import * as vscode from "vscode";
import { programPipeline } from "../../service/startedService.ts";
import { until } from "../../until.ts";

const run = promisify(execFile);

describe("the log of a run, inside the editor's host", () => {
  let root: string;
  let tool: string;

  before(async () => {
    const extension = vscode.extensions.getExtension("pipeline-runs.pipeline-runs");
    assert(extension !== undefined);
    await extension.activate();
    tool = join(extension.extensionPath, "dist/cli.js");
    root = await realpath(await mkdtemp(join(tmpdir(), "pipeline-runs-log-")));
    await mkdir(join(root, "pipelines"));
    const write = (name: string, text: string) => writeFile(join(root, "pipelines", `${name}.yaml`), text);
    await write(
      "fails",
      programPipeline(
        "console.log('\\x1b[31mred\\x1b[0m lamp'); console.error('see https://example.com/a'); process.exit(3)",
      ),
    );
  });
  after(async () => {
    await vscode.commands.executeCommand("workbench.action.closeAllEditors");
    await rm(root, { recursive: true, force: true });
  });

  /** Runs the tool of the extension in the project's folder. @returns the id of the run that it started. */
  const started = async (...words: string[]): Promise<string> => {
    const { stdout } = await run(process.execPath, [tool, "run", "--json", ...words], {
      cwd: root,
      env: { ...process.env, ELECTRON_RUN_AS_NODE: "1" },
    }).catch((error: { stdout: string }) => error);
    return /"run-id":\s*"(run_\w+)"/.exec(stdout)?.[1] ?? assert.fail(stdout);
  };
  const open = async (runId: string): Promise<vscode.TextDocument> => {
    await vscode.commands.executeCommand("pipelineRuns.openLog", { runId });
    return vscode.window.activeTextEditor?.document ?? assert.fail("no document was opened");
  };
  it("is a document that only reads, of text alone, with its steps in the outline, to be folded, and its links", async () => {
    const document = await open(await started("fails"));
    assert.equal(document.languageId, "pipeline-run-log");
    assert.equal(vscode.workspace.fs.isWritableFileSystem(document.uri.scheme), false);
    // It opens as soon as there is something to read.
    await until(async () => document.getText().includes("\nred lamp\n"));
    assert.match(
      document.getText(),
      /^✗ fails failed · [\s\S]*^✗ Failed step: only[\s\S]*^ {2}exited with 3[\s\S]*^✗ only · cli · failed[\s\S]*^red lamp$/m,
    );
    assert(!document.getText().includes("\u001b"));
    const ask = <T>(command: string) => vscode.commands.executeCommand<T>(command, document.uri, 100);
    const symbols = await ask<vscode.DocumentSymbol[]>("vscode.executeDocumentSymbolProvider");
    assert.deepEqual(
      symbols.map(({ name }) => name),
      ["Failed step: only", "only"],
    );
    const folds = await ask<vscode.FoldingRange[]>("vscode.executeFoldingRangeProvider");
    assert.deepEqual(
      folds.map(({ start }) => document.lineAt(start).text.slice(0, 6)),
      ["✗ Fail", "✗ only"],
    );
    const links = await ask<vscode.DocumentLink[]>("vscode.executeLinkProvider");
    assert(links.some(({ target }) => target?.toString() === "https://example.com/a"));
  });
});
