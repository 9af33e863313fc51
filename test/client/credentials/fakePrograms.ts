import { mkdir, readFile, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { TemporaryFolder } from "../../temporaryFolder.ts";

/** How a fake keychain was called, and what every process showed of itself meanwhile. */
interface Call {
  readonly pid: number;
  readonly program: string;
  readonly args: readonly string[];
  readonly input: string;
  readonly env: Readonly<Record<string, string>>;
  readonly processes: string;
}

/** `holds` gives no secret up, `forgets` takes one and hasn't got it, the others do nothing at all. */
type Mood = "works" | "hangs" | "refuses" | "forgets" | "holds";

const fake = join(import.meta.dirname, "fakeKeychain.mjs");

/** `secret-tool`, `security` and `powershell.exe` as real programs in a folder for the PATH, not on Windows. */
export class FakePrograms implements AsyncDisposable {
  readonly #folder: TemporaryFolder;

  static async make(): Promise<FakePrograms> {
    const programs = new FakePrograms(await TemporaryFolder.make());
    const { bin, state } = programs;
    await mkdir(bin);
    await mkdir(state);
    for (const name of ["secret-tool", "security", "powershell.exe"]) {
      const words = [process.execPath, fake, state, name].map((word) => `'${word}'`).join(" ");
      await writeFile(join(bin, name), `#!/bin/sh\nexec ${words} "$@"\n`, { mode: 0o755 });
    }
    return programs;
  }

  private constructor(folder: TemporaryFolder) {
    this.#folder = folder;
  }

  /** A PATH on which they come first. */
  get path(): string {
    return [this.bin, process.env["PATH"]].join(delimiter);
  }

  get bin(): string {
    return join(this.#folder.path, "bin");
  }

  get state(): string {
    return join(this.#folder.path, "state");
  }

  be(mood: Mood): Promise<void> {
    return writeFile(join(this.state, "mood"), mood);
  }

  async calls(): Promise<Call[]> {
    const text = await readFile(join(this.state, "calls"), "utf8").catch(() => "");
    return text
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line));
  }

  /** What they keep, by account. */
  async secrets(): Promise<Record<string, string>> {
    return JSON.parse(await readFile(join(this.state, "secrets.json"), "utf8").catch(() => "{}"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#folder[Symbol.asyncDispose]();
  }
}
