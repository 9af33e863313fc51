import assert from "node:assert/strict";
import { chmod, mkdir, readdir, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { toolbox } from "../../cli/toolbox.ts";
import { screen } from "../../editor/screen/screen.ts";
import { programPipeline } from "../../service/startedService.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { givenKey, givenService } from "../conformance/givenService.ts";

const run = "Pipeline Runs: Run Pipeline…";
/** A name that would be a link which runs a command, if it were not shown as it is. */
const hostileName = "[Fix it](command:workbench.action.closeWindow) <img src=x> $(bug)";

/** A text that a few hundred bytes blow up to billions of items. */
function bomb(): string {
  const lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"];
  for (let depth = 1; depth < 12; depth++) {
    lines.push(`a${depth}: &a${depth} [${Array.from({ length: 10 }, () => `*a${depth - 1}`).join(", ")}]`);
  }
  return `${lines.join("\n")}\nsteps: *a11\n`;
}

describe("the editor, in a workspace that means harm", () => {
  let parent: string;
  let workspace: string;
  let caught = 0;
  const at = screen(async (held) => {
    parent = held.use(await TemporaryFolder.make()).path;
    workspace = join(parent, "[Run](command:workbench.action.closeWindow) $(bug)");
    await mkdir(join(workspace, "pipelines"), { recursive: true });
    await mkdir(join(workspace, ".vscode"));
    const trap = createServer((_, response) => {
      caught += 1;
      response.end();
    });
    held.defer(() => void trap.close());
    await new Promise<void>((resolve) => trap.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(trap.address() as AddressInfo).port}`;
    const evil = join(workspace, "evil");
    await writeFile(evil, `#!/bin/sh\ntouch "${join(parent, "trace")}"\n`);
    await chmod(evil, 0o755);
    const settings = {
      "pipelineRuns.baseUrl": url,
      "pipelineRuns.cliPath": evil,
      "pipelineRuns.announce": "none",
    };
    await writeFile(join(workspace, ".vscode/settings.json"), JSON.stringify(settings));
    await writeFile(join(workspace, "pipelines/bomb.yaml"), bomb());
    const fails = programPipeline(`console.log(${JSON.stringify(hostileName)}); process.exit(3)`);
    await writeFile(join(workspace, "pipelines/harm.yaml"), fails);
    const tool = held.use(await toolbox());
    return {
      folder: workspace,
      env: { PIPELINE_DATA_DIR: tool.data },
      trustsAll: false,
      settings: { "security.workspace.trust.startupPrompt": "never" },
    };
  });

  const assertNoHarm = async () => {
    assert.equal(caught, 0, "its address was asked for nothing");
    assert(!(await readdir(parent)).includes("trace"), "its script was not run");
  };

  it("runs nothing of it and sends nothing before it is trusted, and says so once", async () => {
    await at.window.quickInput.runCommand(run);
    const toast = await at.window.notifications.toast(
      /^Pipelines of a workspace that isn't trusted are not run/,
    );
    assert.equal((await at.window.notifications.toasts()).length, 1);
    await assertNoHarm();
    await toast.press("Manage Workspace Trust");
    await at.window.page.locator(".workspace-trust-editor").waitFor();
    await at.window.page
      .locator(".workspace-trust-editor")
      .getByRole("button", { name: "Trust", exact: true })
      .first()
      .click();
  });

  it("uses none of its settings once it is trusted, and says so once", async () => {
    await at.window.statusBar.waitUntilGone("status.workspaceTrust");
    await at.window.notifications.toast(
      /^A file of this workspace sets pipelineRuns\.announce, pipelineRuns\.baseUrl, pipelineRuns\.cliPath\. It is not used/,
    );
    await at.window.waitUntilKept("toldIgnoredSettings");
    await at.window.reload();
    await at.window.statusBar.waitForText("pipeline-runs.pipeline-runs.quota", /^0 of 50 runs used today$/);
    assert.deepEqual(await at.window.notifications.toasts(), []);
    await assertNoHarm();
  });

  it("shows a bomb of a file as a file that can't be run", async () => {
    await at.window.quickInput.runCommand(run);
    await at.window.quickInput.type("bomb");
    await at.window.page.locator(".quick-input-list .monaco-list-row", { hasText: "bomb" }).first().click();
    await at.window.notifications.toast(/^The pipeline file can't be run: pipelines\/bomb\.yaml:/);
  });

  it("shows what a run of it says as it is, and makes no link of it", async () => {
    await at.window.quickInput.runCommand(run);
    await at.window.quickInput.pick("harm");
    const toast = await at.window.notifications.toast(/^harm failed: .*\[Fix it\] \(command:/);
    assert.match(await toast.message(), /<img src=x>/);
    const links = at.window.page.locator(".notifications-toasts .notification-list-item-message a");
    assert.equal(await links.count(), 0);
    await assertNoHarm();
  });

  it("runs no tool that lies in it, also where the person's own settings name it", async () => {
    await using given = await givenService();
    await at.window.writeSettings({
      "pipelineRuns.baseUrl": given.origin,
      "pipelineRuns.cliPath": join(workspace, "evil"),
    });
    await at.window.setApiKey(givenKey);
    await at.window.notifications.toast(/^The API key is set/);
    await at.window.quickInput.runCommand(run);
    await at.window.quickInput.pick("harm");
    await at.window.notifications.toast(
      /pipelineRuns\.cliPath can't be used: .*lies in a folder of this window/,
    );
    await assertNoHarm();
  });
});
