import assert from "node:assert/strict";
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as vscode from "vscode";

const text = `resources:
  shop: { type: http, base-url: "http://127.0.0.1:1" }
  shell: { type: cli }
steps:
  - name: it answers
    use: shop
    get: /health
  - name: unit tests
    use: shell
    run: npm test
`;

describe("a pipeline file, inside the editor's host", () => {
  let root: string;
  const settings = () => vscode.workspace.getConfiguration("pipelineRuns");
  const files = () => vscode.workspace.getConfiguration("files");
  const uriOf = (name: string) => vscode.Uri.file(join(root, "pipelines", name));

  before(async () => {
    root = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? assert.fail("no folder is open");
    // A service that isn't there: none is started for the pipelines that are written here.
    await settings().update("baseUrl", "http://127.0.0.1:9", vscode.ConfigurationTarget.Global);
    // The editor in a browser saves by itself after a second.
    await files().update("autoSave", "off", vscode.ConfigurationTarget.Global);
    await mkdir(join(root, "pipelines"));
    await writeFile(join(root, "pipelines", "right.yaml"), text);
    await writeFile(
      join(root, "pipelines", "broken.yaml"),
      "resources: { a: { type: clii } }\nsteps:\n  - use: a\n",
    );
    await vscode.window.showTextDocument(uriOf("right.yaml"));
    await until(() => vscode.languages.getDiagnostics(uriOf("broken.yaml")).length > 0);
  });
  after(async () => {
    await vscode.workspace.saveAll();
    await vscode.commands.executeCommand("workbench.action.closeAllEditors");
    await rm(join(root, "pipelines"), { recursive: true });
    await files().update("autoSave", undefined, vscode.ConfigurationTarget.Global);
    await settings().update("baseUrl", undefined, vscode.ConfigurationTarget.Global);
  });

  const right = () => vscode.workspace.openTextDocument(uriOf("right.yaml"));

  it("has its problems, with the part that is wrong, also while it isn't open, and none once it is gone from the disk", async () => {
    const [first] = vscode.languages.getDiagnostics(uriOf("broken.yaml"));
    assert.equal(
      first?.message,
      "there is no resource type `clii`; did you mean `cli`? the types are http, sql, browser, cli",
    );
    assert.deepEqual(first?.range, new vscode.Range(0, 24, 0, 28));
    assert.equal(first?.source, "Pipeline Runs");
    assert.deepEqual(vscode.languages.getDiagnostics(uriOf("right.yaml")), []);
    const path = join(root, "pipelines", "later.yaml");
    await writeFile(path, "steps: []\n");
    await until(() => vscode.languages.getDiagnostics(vscode.Uri.file(path)).length === 1);
    await rm(path);
    await until(() => vscode.languages.getDiagnostics(vscode.Uri.file(path)).length === 0);
  });

  it("has the problems of a part that is changed on the disk or gone, wherever in the project that lies", async () => {
    const part = join(root, "shared", "part.yaml");
    const problems = () => vscode.languages.getDiagnostics(uriOf("whole.yaml")).map(({ message }) => message);
    await mkdir(join(root, "shared"));
    await writeFile(part, text);
    await writeFile(
      join(root, "pipelines", "whole.yaml"),
      "steps: [{ include: shared/part.yaml, inputs: { a: b } }]\n",
    );
    await until(() => problems()[0]?.startsWith("the part has no input `a`") === true);
    await until(() => {
      writeFileSync(part, `inputs: { a: c }\n${text}`);
      return problems().length === 0;
    });
    await rm(part);
    await until(() => problems()[0]?.startsWith("`shared/part.yaml` can't be read") === true);
    await rm(join(root, "pipelines", "whole.yaml"));
    await rm(join(root, "shared"), { recursive: true });
  });

  it("has none once it is gone also when it came and went so soon that the editor tells of neither", async () => {
    const uri = uriOf("brief.yaml");
    const broken = await readFile(uriOf("broken.yaml").fsPath, "utf8");
    const problems = () => vscode.languages.getDiagnostics(uri).length;
    // It has to be there just as the files are read because of the other change, so it comes a little later each time.
    for (let looks = 13; looks <= 16; looks++) {
      await writeFile(uriOf("broken.yaml").fsPath, `${broken}# ${looks}\n`);
      let left = looks;
      await until(() => left-- === 0);
      await writeFile(uri.fsPath, "steps: []\n");
      await until(() => problems() > 0);
      await rm(uri.fsPath);
      await until(() => problems() === 0);
    }
    await writeFile(uriOf("broken.yaml").fsPath, broken);
  });

  it("has no problems any more once its folder as a whole is gone or has another name, and has them again as it comes back", async () => {
    const folder = join(root, "pipelines");
    const path = join(folder, "broken.yaml");
    const problems = () => vscode.languages.getDiagnostics(vscode.Uri.file(path)).length;
    // The editor's watcher sees nothing of a folder that has just come until it watches that, too.
    const watched = async (where: string) => {
      const file = join(where, "touched");
      const watcher = vscode.workspace.createFileSystemWatcher(file);
      let isSeen = false;
      const see = () => {
        isSeen = true;
      };
      watcher.onDidCreate(see);
      watcher.onDidChange(see);
      await until(() => {
        rmSync(file, { force: true });
        writeFileSync(file, "");
        return isSeen;
      });
      watcher.dispose();
      rmSync(file);
    };
    for (let times = 0; times < 2; times++) {
      await watched(folder);
      await rename(folder, join(root, "other"));
      await until(() => problems() === 0);
      await watched(join(root, "other"));
      await rename(join(root, "other"), folder);
      await until(() => problems() > 0);
    }
  });

  it("has no problems any more once another folder is in its folder's place, whose files have theirs", async () => {
    const [folder, other, old] = ["pipelines", "other", "old"].map((name) => join(root, name)) as [
      string,
      string,
      string,
    ];
    await mkdir(other);
    await writeFile(join(other, "another.yaml"), "steps: []\n");
    const areOnly = (wanted: string) =>
      ["broken.yaml", "another.yaml"].every(
        (name) => vscode.languages.getDiagnostics(uriOf(name)).length > 0 === (name === wanted),
      );
    // At once, as a checkout does.
    renameSync(folder, old);
    renameSync(other, folder);
    await until(() => areOnly("another.yaml"));
    renameSync(folder, other);
    renameSync(old, folder);
    await until(() => areOnly("broken.yaml"));
    await rm(other, { recursive: true });
  });

  it("keeps its problems when it is renamed, under its new name only", async () => {
    const edit = new vscode.WorkspaceEdit();
    edit.renameFile(uriOf("broken.yaml"), uriOf("renamed.yaml"));
    await vscode.workspace.applyEdit(edit);
    await until(() => vscode.languages.getDiagnostics(uriOf("renamed.yaml")).length > 0);
    await until(() => vscode.languages.getDiagnostics(uriOf("broken.yaml")).length === 0);
    const back = new vscode.WorkspaceEdit();
    back.renameFile(uriOf("renamed.yaml"), uriOf("broken.yaml"));
    await vscode.workspace.applyEdit(back);
    await until(() => vscode.languages.getDiagnostics(uriOf("broken.yaml")).length > 0);
  });

  it("is put right by quick fixes, of a word that the parser knows and of the YAML itself", async () => {
    const document = await vscode.workspace.openTextDocument(uriOf("broken.yaml"));
    const fix = async (line: number, character: number, title: string) => {
      const at = new vscode.Range(line, character, line, character);
      const actions = await ask<vscode.CodeAction[]>(
        "vscode.executeCodeActionProvider",
        document.uri,
        at,
        "quickfix",
      );
      const action = actions.find((one) => one.title === title);
      await vscode.workspace.applyEdit(action?.edit ?? assert.fail(title));
      return action;
    };
    assert.equal((await fix(0, 25, "Change to `cli`"))?.isPreferred, true);
    assert.match(document.getText(), /type: cli \}/);
    const put = new vscode.WorkspaceEdit();
    const slips =
      "resources: { sh: { type: cli } }\nsteps:\n  - name: a\n  use: sh\n  run: b\n  - use: sh\n    run: c: d\n";
    put.replace(document.uri, new vscode.Range(0, 0, document.lineCount, 0), slips);
    await vscode.workspace.applyEdit(put);
    const shown = () => vscode.languages.getDiagnostics(document.uri);
    await until(() => shown().some(({ message }) => message.startsWith("put this value in quotes")));
    await fix(6, 9, "Put it in quotes");
    await fix(3, 2, "Correct the indentation");
    assert.match(document.getText(), /- name: a\n {4}use: sh\n {4}run: b\n[\s\S]*run: "c: d"\n/);
    await until(() => shown().length === 0);
  });

  it("completes a whole step, and writes it with its indentation", async () => {
    const document = await right();
    const editor = await vscode.window.showTextDocument(document);
    const end = document.lineAt(9).range.end;
    await editor.edit((edit) => edit.insert(end, "\n  "));
    const at = new vscode.Position(10, 2);
    const { items } = await ask<vscode.CompletionList>(
      "vscode.executeCompletionItemProvider",
      document.uri,
      at,
    );
    const step = items.find(({ label }) => label === "step with shell");
    assert.ok(step?.insertText instanceof vscode.SnippetString && step.keepWhitespace === true);
    const undo = { undoStopAfter: true, undoStopBefore: true, keepWhitespace: true };
    await editor.insertSnippet(step.insertText, at, undo);
    assert.match(
      document.getText(),
      /npm test\n {2}- name: unit tests\n {4}use: shell\n {4}run: npm test\n$/,
    );
    await vscode.commands.executeCommand("workbench.action.files.revert");
  });

  it("answers where the mouse rests, leads from a use to its resource and back, renames it, and has an outline", async () => {
    const document = await right();
    const { uri } = document;
    const use = document.positionAt(document.getText().indexOf("use: shell") + 6);
    const hovers = await ask<vscode.Hover[]>("vscode.executeHoverProvider", uri, use);
    const told = hovers.flatMap(({ contents }) =>
      contents.map((part) => (typeof part === "string" ? part : part.value)),
    );
    assert.match(told.join(), /of type `cli`[\s\S]*```yaml\nshell: \{ type: cli \}/);
    const [found] = await ask<vscode.Location[]>("vscode.executeDefinitionProvider", uri, use);
    assert.deepEqual(found?.range, new vscode.Range(2, 2, 2, 7));
    const references = await ask<vscode.Location[]>("vscode.executeReferenceProvider", uri, use);
    assert.deepEqual(
      references.map(({ range }) => range.start.line),
      [2, 8],
    );
    const rename = (name: string) =>
      ask<vscode.WorkspaceEdit>("vscode.executeDocumentRenameProvider", uri, use, name);
    assert.deepEqual(
      (await rename("true")).get(uri).map(({ newText }) => newText),
      ['"true"', '"true"'],
    );
    await assert.rejects(rename("shop"), /This file has a resource “shop” already/);
    const outline = await ask<vscode.DocumentSymbol[]>("vscode.executeDocumentSymbolProvider", uri);
    assert.deepEqual(
      outline.map(({ name, detail }) => `${name} ${detail}`),
      ["shop http", "shell cli", "it answers shop", "unit tests shell"],
    );
  });

  describe("that includes a part", () => {
    const part = () => vscode.Uri.file(join(root, "parts", "login.yaml"));
    const good = "inputs: { user: me }\nresources: { sh: { type: cli } }\nsteps: [{ use: sh, run: x }]\n";
    const bad = good.replace("use: sh", "use: no");
    const problems = (uri: vscode.Uri) => vscode.languages.getDiagnostics(uri).map(({ message }) => message);
    const showsThePart = (isWrong: boolean) => () =>
      ["including.yaml", "unopened.yaml"].every(
        (name) => problems(uriOf(name)).some((message) => message.includes("can't be run")) === isWrong,
      );

    before(async () => {
      await mkdir(join(root, "parts"));
      await writeFile(part().fsPath, bad);
      const including = "steps:\n  - { include: parts/login.yaml, inputs: { user: you } }\n";
      await writeFile(uriOf("including.yaml").fsPath, including);
      await writeFile(uriOf("unopened.yaml").fsPath, including);
      await vscode.workspace.openTextDocument(uriOf("including.yaml"));
      await until(showsThePart(true));
    });
    after(() => rm(join(root, "parts"), { recursive: true }));

    it("shows what is wrong with it as it changes on the disk, also with its folder as a whole", async () => {
      await writeFile(part().fsPath, good);
      await until(showsThePart(false));
      await writeFile(part().fsPath, bad);
      await until(showsThePart(true));
      await rename(join(root, "parts"), join(root, "others"));
      const isMissed = (uri: vscode.Uri) =>
        problems(uri).some((message) => message.includes("it isn't in the project's folder"));
      await until(() => isMissed(uriOf("including.yaml")) && isMissed(uriOf("unopened.yaml")));
      await writeFile(join(root, "others", "login.yaml"), good);
      await rename(join(root, "others"), join(root, "parts"));
      await until(
        () => problems(uriOf("including.yaml")).length + problems(uriOf("unopened.yaml")).length === 0,
      );
    });

    it("leads to it, and both show what is wrong with it as it is typed, until it is closed without being saved", async () => {
      const { uri } = await vscode.workspace.openTextDocument(uriOf("including.yaml"));
      const [at, input] = [new vscode.Position(1, 20), new vscode.Position(1, 44)];
      const [found] = await ask<vscode.Location[]>("vscode.executeDefinitionProvider", uri, at);
      assert.equal(found?.uri.toString(), part().toString());
      const [declared] = await ask<vscode.Location[]>("vscode.executeDefinitionProvider", uri, input);
      assert.deepEqual(declared?.range.start, new vscode.Position(0, 10));
      const editor = await vscode.window.showTextDocument(part());
      await editor.edit((edit) => edit.replace(new vscode.Range(2, 15, 2, 17), "no"));
      await until(() => problems(part()).some((message) => message.startsWith("there is no resource `no`")));
      const symbols = await ask<vscode.DocumentSymbol[]>("vscode.executeDocumentSymbolProvider", part());
      assert.deepEqual(
        symbols.map(({ name }) => name),
        ["user", "sh", "run x"],
      );
      await until(showsThePart(true));
      assert.match(problems(uri).join(), /can't be run: line 3, column 16/);
      await editor.edit((edit) => edit.replace(new vscode.Range(2, 15, 2, 17), "sh"));
      await until(() => showsThePart(false)() && problems(part()).length === 0);
      await editor.edit((edit) => edit.replace(new vscode.Range(2, 15, 2, 17), "no"));
      await until(showsThePart(true));
      await vscode.commands.executeCommand("workbench.action.revertAndCloseActiveEditor");
      await until(showsThePart(false));
    });
  });

  it("is warned of a file that it names until that is there, and again once it is gone, open or not", async () => {
    const [open, unopened] = [uriOf("names.yaml"), uriOf("namesUnopened.yaml")];
    const names =
      "resources: { shop: { type: http, base-url: http://h.test } }\nsteps: [{ use: shop, post: /, file: order.json }]\n";
    for (const { fsPath } of [open, unopened]) await writeFile(fsPath, names);
    await vscode.workspace.openTextDocument(open);
    const areWarned = (are: boolean) => () =>
      [open, unopened].every(
        (uri) =>
          vscode.languages
            .getDiagnostics(uri)
            .some(({ message }) => message.startsWith("`order.json` isn't in the project's folder")) === are,
      );
    await until(areWarned(true));
    await writeFile(join(root, "order.json"), "{}");
    await until(areWarned(false));
    await rm(join(root, "order.json"));
    await until(areWarned(true));
    for (const { fsPath } of [open, unopened]) await rm(fsPath);
  });

  it("is no file of its project any more once it is gone from the disk, though it is still open", async () => {
    const [old, copy] = [uriOf("old.yaml"), uriOf("copy.yaml")];
    for (const { fsPath } of [old, copy]) await writeFile(fsPath, `name: twice\n${text}`);
    await vscode.window.showTextDocument(old);
    const haveProblems = (are: boolean) =>
      [old, copy].every((uri) => vscode.languages.getDiagnostics(uri).length > 0 === are);
    await until(() => haveProblems(true));
    await rm(old.fsPath);
    await until(() => haveProblems(false));
    assert.equal(vscode.window.activeTextEditor?.document.uri.toString(), old.toString());
    await vscode.commands.executeCommand("workbench.action.closeActiveEditor");
    await rm(copy.fsPath);
  });

  it("has Run above it, and nothing where the setting says so or in a file that only looks like one", async () => {
    const document = await right();
    const lenses = () => ask<vscode.CodeLens[]>("vscode.executeCodeLensProvider", document.uri);
    const [run] = await lenses();
    assert.equal(run?.command?.command, "pipelineRuns.run");
    assert.deepEqual(run?.command?.arguments?.[0]?.pipeline, "right");
    await settings().update("codeLens", false, vscode.ConfigurationTarget.Global);
    // A setting comes to the extension in the editor's own time.
    while ((await lenses()).length > 0);
    await settings().update("codeLens", undefined, vscode.ConfigurationTarget.Global);
    await mkdir(join(root, "other", "pipelines"), { recursive: true });
    const uri = vscode.Uri.file(join(root, "other", "pipelines", "foreign.yaml"));
    await writeFile(uri.fsPath, "steps: {}\n");
    await vscode.window.showTextDocument(uri);
    assert.deepEqual(await ask("vscode.executeCodeLensProvider", uri), []);
    assert.deepEqual(vscode.languages.getDiagnostics(uri), []);
    await rm(join(root, "other"), { recursive: true });
  });
});

async function ask<T>(command: string, ...given: readonly unknown[]): Promise<T> {
  return await vscode.commands.executeCommand<T>(command, ...given);
}

/** Waits until something of the editor is so; the test's own time limit ends it. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 20));
}
