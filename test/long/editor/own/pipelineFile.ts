import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { OwnService } from "../../../editor/screen/ownService.ts";
import { TextEditor } from "../../../editor/screen/textEditor.ts";
import { pressUntilSeen, waitFor } from "../../../editor/screen/waitFor.ts";
import { programPipeline } from "../../../service/startedService.ts";
import { until } from "../../../until.ts";

export function pipelineFile(at: OwnService): void {
  describe("a pipeline file", () => {
    let editor: TextEditor;
    before(() => {
      editor = new TextEditor(at.window.page);
    });

    const keys = (text: string) => at.window.page.keyboard.type(text, { delay: 20 });
    const press = (key: string) => at.window.page.keyboard.press(key);
    const pipeline = (name: string) => readFile(join(at.workspace, "pipelines", `${name}.yaml`), "utf8");
    const open = async (fileName: string) => {
      await press("Control+P");
      await at.window.quickInput.type(fileName);
      await at.window.quickInput.pick(fileName);
      await editor.shows(fileName);
    };
    const logOf = (name: string) =>
      at.window.page.locator(".tab.active").filter({ hasText: new RegExp(`^${name}-`) });
    const has = (line: string) => waitFor(editor.line(line), `the line ${line}`, () => editor.text());

    it("is made by New File from a template, with the words selected that one changes first", async () => {
      await at.window.quickInput.runCommand("Pipeline Runs: New File…");
      await at.window.quickInput.pick("cli");
      await at.window.quickInput.waitForTitle("New Pipeline");
      await at.window.quickInput.type("hello");
      await at.window.quickInput.waitForMessage(/pipelines\/hello\.yaml already exists\./);
      await at.window.quickInput.type("made");
      await at.window.quickInput.accept();
      await editor.shows("made.yaml");
      await keys("node --help");
      await has("run: node --help");
      await press("Control+S");
    });

    it("is completed while one types: a whole step, its names, and the resource that it uses", async () => {
      await editor.clickBehind("exit-code: 0");
      await press("Enter");
      await press("Home");
      await press("Shift+End");
      await press("Delete");
      await keys("  ");
      await press("Control+Space");
      await (await editor.suggestion("step with shell")).click();
      await has("name: unit tests");
      await keys("the end");
      await has("name: the end");
      const command = at.window.statusBar.item("status.editor.selection").filter({ hasText: "(8 selected)" });
      await pressUntilSeen("Tab", command, "the command to fill in");
      await keys("echo end");
      await has("run: echo end");
      await press("Escape");
      await press("End");
      await press("Enter");
      await keys("exp");
      await (await editor.suggestion("expect")).click();
      await (await editor.suggestion("exit-code")).click();
      await (await editor.suggestion("0")).click();
      await waitFor(editor.line("exit-code: 0").nth(1), "the second exit code", () => editor.text());
      await press("Control+S");
      // The editor saves in its own time.
      const saved = async () => {
        const text = await pipeline("made");
        return /the end.*exit-code: 0\n$/s.test(text) && text;
      };
      assert.match(
        await until(saved),
        /\n {2}- name: the end\n {4}use: shell\n {4}run: echo end\n {4}expect:\n {6}exit-code: 0\n$/,
      );
    });

    it("has the step at which its last run failed underlined, until the step is edited or succeeds", async () => {
      const file = join(at.workspace, "pipelines", "breaks.yaml");
      await writeFile(file, programPipeline("console.log('it is broken'); process.exit(3)"));
      await open("breaks.yaml");
      await (await editor.lens(/Run$/)).click();
      await editor.lens(/failed just now: only/);
      await editor.squiggles.first().waitFor();
      await editor.line("steps").first().click();
      await at.window.quickInput.runCommand("Go to Next Problem (Error, Warning, Info)");
      await waitFor(
        at.window.page.locator(".marker-widget").filter({ hasText: "only: exited with 3, expected 0" }),
        "the failed step",
        () => editor.text(),
      );
      await at.window.page.locator(".marker-widget a.code-link").click();
      await logOf("breaks").waitFor();
      await open("breaks.yaml");
      await writeFile(file, programPipeline("console.log('it works')"));
      await editor.squiggles.first().waitFor({ state: "detached" });
    });
  });
}
