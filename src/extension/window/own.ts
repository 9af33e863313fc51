import type { Disposable, ExtensionContext, LogOutputChannel, window as vscodeWindow } from "vscode";

/** Has the window's end dispose of a part. @returns the part. */
export type Own = <T extends Disposable>(part: T) => T;

/** What every part of a window is composed with. */
export interface Scope {
  readonly context: ExtensionContext;
  /** Shows texts from elsewhere as they are. */
  readonly window: typeof vscodeWindow;
  readonly log: LogOutputChannel;
  /** Aborts when the extension ends. */
  readonly signal: AbortSignal;
}
