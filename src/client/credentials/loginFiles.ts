import { link, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { PipelineError } from "../../contract/errors.ts";
import { parseBaseUrl } from "../http/baseUrl.ts";
import { currentLoginFile, loginsFolder } from "./currentLogin.ts";
import type { Login } from "./login.ts";
import { codeOf, freshName, notUsed, readPrivate, writePrivate } from "./privateFile.ts";

/**
 * The logins of a person: in the folder `logins` a file for each origin, and `current.json`, which says whose service
 * is used. Since no file holds what belongs to two origins, tools that run at the same time can't lose each other's.
 */
export class LoginFiles {
  readonly #folder: string;
  readonly #current: string;

  /** @param config the folder of the tool's settings. */
  constructor(config: string) {
    this.#folder = loginsFolder(config);
    this.#current = currentLoginFile(config);
  }

  /** The origin in use. @throws as {@link readPrivate}. */
  async current(): Promise<string | undefined> {
    const path = this.#current;
    const text = await readPrivate(path);
    if (text === undefined) return undefined;
    const { parseCurrent } = await import("./login.ts");
    const origin = parseCurrent(text);
    if (origin === undefined) throw notUsed(path, "does not say which service is used");
    return origin;
  }

  async use(origin: string): Promise<void> {
    const { currentText } = await import("./login.ts");
    await writePrivate(this.#current, currentText(origin));
  }

  /**
   * Ends the use of an origin, unless another has come into use by then.
   * @param origin any that is in use when left out.
   */
  async leave(origin?: string): Promise<void> {
    const path = this.#current;
    const aside = freshName(path);
    try {
      await rename(path, aside);
    } catch (error) {
      if (isAbsence(error)) return;
      throw cannotRemove(path, error);
    }
    const { parseCurrent } = await import("./login.ts");
    // Another tool may have written it between the look at it and now: then it is put back, unless there is a newer one.
    const isOther =
      origin !== undefined && parseCurrent(await readFile(aside, "utf8").catch(() => "")) !== origin;
    if (isOther) await link(aside, path).catch(() => undefined);
    await rm(aside, { recursive: true, force: true });
  }

  /** @throws PipelineError `unauthorized` for a file that is no login of this origin; as {@link readPrivate}. */
  async of(origin: string): Promise<Login | undefined> {
    const path = this.fileOf(origin);
    const text = await readPrivate(path);
    if (text === undefined) return undefined;
    const { parseLogin } = await import("./login.ts");
    const login = parseLogin(text);
    if (login === undefined || !isOf(origin, login.baseUrl)) {
      throw notUsed(path, `is no login to ${origin}`);
    }
    return login;
  }

  /** @returns the file that holds it. */
  async write(origin: string, login: Login): Promise<string> {
    const path = this.fileOf(origin);
    const { loginText } = await import("./login.ts");
    await writePrivate(path, loginText(login));
    return path;
  }

  /** Removes an origin's file, and what a killed tool has left of one. @returns whether there was any. */
  async remove(origin: string): Promise<boolean> {
    const name = nameOf(origin);
    const found = (await this.#names()).filter((each) => each === name || each.startsWith(`${name}.`));
    for (const each of found) {
      const path = join(this.#folder, each);
      await rm(path, { recursive: true, force: true }).catch((error: unknown) => {
        throw cannotRemove(path, error);
      });
    }
    return found.length > 0;
  }

  /** Every origin that has a file, whatever that holds. */
  async origins(): Promise<string[]> {
    return (await this.#names()).flatMap((name) => originOf(name) ?? []).sort();
  }

  fileOf(origin: string): string {
    return join(this.#folder, nameOf(origin));
  }

  async #names(): Promise<string[]> {
    try {
      return await readdir(this.#folder);
    } catch (error) {
      if (isAbsence(error)) return [];
      throw notUsed(this.#folder, `can't be listed: ${codeOf(error) ?? "for an unknown reason"}`);
    }
  }
}

/** A name that each system's file systems can have, and that a person can read. */
function nameOf(origin: string): string {
  return `${encodeURIComponent(origin)}.json`;
}

function originOf(name: string): string | undefined {
  if (!name.startsWith("http") || !name.endsWith(".json")) return undefined;
  try {
    return decodeURIComponent(name.slice(0, -".json".length));
  } catch {
    return undefined;
  }
}

function isOf(origin: string, baseUrl: string): boolean {
  try {
    return parseBaseUrl(baseUrl).origin === origin;
  } catch {
    return false;
  }
}

function isAbsence(error: unknown): boolean {
  const code = codeOf(error);
  return code === "ENOENT" || code === "ENOTDIR";
}

function cannotRemove(path: string, cause: unknown): PipelineError {
  return new PipelineError(
    "internal",
    `${path} can't be removed: ${codeOf(cause) ?? "for an unknown reason"}.`,
    {
      cause,
      next: "Remove it by hand.",
    },
  );
}
