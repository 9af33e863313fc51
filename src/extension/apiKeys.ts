import type { SecretStorage } from "vscode";

/**
 * The API keys in the editor's secret storage, each under the origin it was entered for, so that a changed base URL
 * never gets another origin's key (contract: "The extension").
 */
export class ApiKeys {
  readonly #secrets: SecretStorage;

  constructor(secrets: SecretStorage) {
    this.#secrets = secrets;
  }

  get(origin: string): Thenable<string | undefined> {
    return this.#secrets.get(nameOf(origin));
  }

  set(origin: string, key: string): Thenable<void> {
    return this.#secrets.store(nameOf(origin), key);
  }

  remove(origin: string): Thenable<void> {
    return this.#secrets.delete(nameOf(origin));
  }

  /** Calls back when this or another window has changed a key. */
  onDidChange(listener: () => void): { dispose(): void } {
    return this.#secrets.onDidChange(({ key }) => {
      if (key.startsWith(prefix)) listener();
    });
  }
}

const prefix = "apiKey:";

function nameOf(origin: string): string {
  return `${prefix}${origin}`;
}
