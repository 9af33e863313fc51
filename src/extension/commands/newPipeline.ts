import { posix } from "node:path";
import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import { type Template, templates } from "../../pipeline/editing/templates.ts";
import { type FileProject, FileProjects } from "../files/fileProjects.ts";
import { withoutIcons } from "../window/plainWindow.ts";
import { exampleName, nameTyped, problemOfNewPipeline } from "./newPipelineName.ts";

/** “New File…”: creates a pipeline file from a template and opens it at the place to edit. */
export async function newPipeline(window: typeof vscode.window): Promise<void> {
  const project = await pickProject(window);
  if (project === undefined) return;
  const template = await pickTemplate(window);
  if (template === undefined) return;
  const folder = vscode.Uri.joinPath(project.root, "pipelines");
  const taken = await namesIn(folder);
  const typed = await window.showInputBox({
    title: t("New Pipeline"),
    prompt: t("The pipeline's name; the file is pipelines/<name>.yaml"),
    placeHolder: exampleName(taken),
    validateInput: (text) => (text.trim() === "" ? undefined : problemOfNewPipeline(text, taken)),
  });
  if (typed === undefined) return;
  const problem = problemOfNewPipeline(typed, taken);
  if (problem !== undefined) {
    await window.showErrorMessage(problem);
    return;
  }
  const file = vscode.Uri.joinPath(folder, `${nameTyped(typed)}.yaml`);
  const edit = new vscode.WorkspaceEdit();
  // Another file may have been created in the meantime.
  edit.createFile(file, { overwrite: false, contents: new TextEncoder().encode(template.text) });
  if (!(await vscode.workspace.applyEdit(edit))) {
    await window.showErrorMessage(t("{0} could not be created.", file.fsPath));
    return;
  }
  const document = await vscode.workspace.openTextDocument(file);
  const start = template.text.indexOf(template.firstWords);
  const selection = new vscode.Range(
    document.positionAt(start),
    document.positionAt(start + template.firstWords.length),
  );
  await window.showTextDocument(document, { selection });
}

async function pickProject(window: typeof vscode.window): Promise<FileProject | undefined> {
  const projects = new FileProjects();
  await projects.refresh();
  const [first, ...others] = projects.current.value;
  if (first === undefined) {
    const open = t("Open Folder…");
    const chosen = await window.showInformationMessage(
      t("Pipelines are files in a folder. Open your project's folder first."),
      open,
    );
    if (chosen === open) await vscode.commands.executeCommand("workbench.action.files.openFolder");
    return undefined;
  }
  if (others.length === 0) return first;
  const picked = await window.showQuickPick(
    [first, ...others].map((project) => ({
      label: withoutIcons(project.name),
      description: withoutIcons(project.root.fsPath),
      project,
    })),
    { title: t("New Pipeline"), placeHolder: t("Select a project") },
  );
  return picked?.project;
}

async function pickTemplate(window: typeof vscode.window): Promise<Template | undefined> {
  const picked = await window.showQuickPick(
    templates.map((template) => ({ label: template.id, detail: template.meaning, template })),
    { title: t("New Pipeline"), placeHolder: t("Select a template"), matchOnDetail: true },
  );
  return picked?.template;
}

/** @returns no names if the folder does not exist yet. */
async function namesIn(folder: vscode.Uri): Promise<readonly string[]> {
  try {
    const entries = await vscode.workspace.fs.readDirectory(folder);
    return entries.filter(([name]) => name.endsWith(".yaml")).map(([name]) => posix.basename(name, ".yaml"));
  } catch {
    return [];
  }
}
