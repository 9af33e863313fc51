/** What a run of tests inside an extension host needs, whichever VS Code it is. */
export interface InHostOptions {
  /** The extension under test: the folder with its package.json, built. */
  readonly extensionFolder: string;
  /** The module that `buildSuite` returned. */
  readonly suite: string;
  /** The workspace; an empty folder when left out. */
  readonly folder?: string;
  /** The user's settings, beside those that keep the window quiet. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Changes to the environment of the extension host. */
  readonly env?: NodeJS.ProcessEnv;
  /** The whole of it, from the first request to the last test; five minutes when left out. */
  readonly timeoutMilliseconds?: number;
}
