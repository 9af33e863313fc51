import { Told } from "../../client/told.ts";
import { memorySecrets } from "../../extension/memorySecrets.ts";

// Stands in for the module `vscode` under the built extension: what the extension calls when it is activated and used.

export interface Shown {
  readonly kind: "information" | "warning" | "error" | "progress" | "status";
  readonly text: string;
  readonly buttons: readonly string[];
}

/** What the person does and sees. */
export const editor = {
  settings: new Map<string, string>(),
  secrets: memorySecrets(),
  /** What is typed into the next boxes. */
  typed: [] as string[],
  /** The buttons that are pressed as soon as they are shown, in their order. */
  presses: [] as string[],
  shown: new Told<Shown>(),
  commands: new Map<string, (...args: unknown[]) => unknown>(),
  statusItems: [] as string[],
  changeSetting(name: string, value: string): void {
    editor.settings.set(name, value);
    for (const listener of listeners)
      listener({ affectsConfiguration: (part) => part === `pipelineRuns.${name}` });
  },
};

type ConfigurationListener = (change: { affectsConfiguration: (part: string) => boolean }) => void;
const listeners = new Set<ConfigurationListener>();
const nothing = () => ({ dispose: () => {} });

function notify(kind: Shown["kind"]) {
  return async (text: string, ...buttons: string[]): Promise<string | undefined> => {
    editor.shown.tell({ kind, text, buttons });
    const press = buttons.find((button) => button === editor.presses[0]);
    if (press !== undefined) editor.presses.shift();
    return press;
  };
}

/** As the editor fills a text's placeholders; there is no translation here. */
export const l10n = {
  bundle: undefined,
  t: (text: string, ...values: unknown[]) =>
    text.replaceAll(/\{(\d+)\}/g, (_, position) => String(values[position])),
};

export const window = {
  state: { focused: true },
  onDidChangeWindowState: nothing,
  createTreeView: () => ({ visible: false, onDidChangeVisibility: nothing, dispose: () => {} }),
  activeTextEditor: undefined,
  setStatusBarMessage: (text: string) => editor.shown.tell({ kind: "information", text, buttons: [] }),
  createOutputChannel: () => {
    const log = () => {};
    return { info: log, warn: log, error: log, debug: log, trace: log, show: log, dispose: log };
  },
  createStatusBarItem(id: string) {
    editor.statusItems.push(id);
    const item = {
      text: "",
      show: () => editor.shown.tell({ kind: "status", text: item.text, buttons: [] }),
      hide: () => editor.shown.tell({ kind: "status", text: "", buttons: [] }),
      dispose: () => {},
    };
    return item;
  },
  showInputBox: async () => editor.typed.shift(),
  showInformationMessage: notify("information"),
  showWarningMessage: notify("warning"),
  showErrorMessage: notify("error"),
  withProgress: (
    { title }: { title: string },
    task: (progress: unknown, token: unknown) => Promise<unknown>,
  ) =>
    task(
      {
        report: ({ message }: { message: string }) =>
          editor.shown.tell({ kind: "progress", text: `${title}: ${message}`, buttons: [] }),
      },
      { isCancellationRequested: false, onCancellationRequested: nothing },
    ),
  /** A pick in which a name is typed and accepted. */
  createQuickPick() {
    let accept = () => {};
    let change = (_: string) => {};
    const pick = {
      items: [] as unknown[],
      activeItems: [] as unknown[],
      selectedItems: [] as unknown[],
      value: "",
      onDidAccept: (listener: () => void) => {
        accept = listener;
        return nothing();
      },
      onDidHide: nothing,
      onDidChangeValue: (listener: (value: string) => void) => {
        change = listener;
        return nothing();
      },
      show: () => {
        pick.value = editor.typed.shift() ?? "";
        change(pick.value);
        pick.selectedItems = pick.items.slice(0, 1);
        pick.activeItems = pick.selectedItems;
        accept();
      },
      hide: () => {},
      dispose: () => {},
    };
    return pick;
  },
  showQuickPick: async (items: readonly unknown[]) => items[0],
};

export const workspace = {
  isTrusted: true,
  workspaceFolders: undefined,
  getConfiguration: () => ({
    get: (name: string) => editor.settings.get(name),
    update: async (name: string, value: string) => editor.changeSetting(name, value),
  }),
  onDidChangeConfiguration: (listener: ConfigurationListener) => {
    listeners.add(listener);
    return { dispose: () => listeners.delete(listener) };
  },
  onDidChangeWorkspaceFolders: nothing,
  onDidGrantWorkspaceTrust: nothing,
  onDidOpenTextDocument: nothing,
  textDocuments: [],
  registerFileSystemProvider: nothing,
  createFileSystemWatcher: () => ({ onDidCreate: nothing, dispose: () => {} }),
  findFiles: async () => [],
};

export const commands = {
  registerCommand: (id: string, act: (...args: unknown[]) => unknown) => {
    editor.commands.set(id, act);
    return { dispose: () => editor.commands.delete(id) };
  },
  executeCommand: async (id: string, ...args: unknown[]) => editor.commands.get(id)?.(...args),
};

export const tasks = { registerTaskProvider: nothing };
export const lm = { registerMcpServerDefinitionProvider: nothing };
export const env = { language: "en", clipboard: {} };

export class EventEmitter {
  readonly event = nothing;
  fire(): void {}
  dispose(): void {}
}
export const Disposable = { from: () => nothing() };
export const FileSystemError = {};

/** A text whose look doesn't matter here. */
export class MarkdownString {
  appendText(): this {
    return this;
  }
  appendMarkdown(): this {
    return this;
  }
}

export const StatusBarAlignment = { Left: 1, Right: 2 };
export const ConfigurationTarget = { Global: 1 };
export class ThemeColor {
  readonly id: string;
  constructor(id: string) {
    this.id = id;
  }
}

export class ThemeIcon extends ThemeColor {}

export const QuickInputButtons = { Back: {} };
