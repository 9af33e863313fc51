import { realpath, stat } from "node:fs/promises";
import { isAbsolute, relative, resolve, sep } from "node:path";
import type { Clock } from "../../client/clock.ts";

/** How long what was found out is believed, in milliseconds: a run may make files. */
const believedFor = 10_000;
const mostKnown = 1_000;

/** Which files a run's project has, among those that its log names. */
export class ProjectFiles {
  readonly #root: string;
  readonly #clock: Clock;
  readonly #known = new Map<string, Promise<string | undefined>>();
  #since: number;

  /** @param root the project's folder, absolute. */
  constructor(root: string, clock: Clock) {
    this.#root = root;
    this.#clock = clock;
    this.#since = clock.monotonic();
  }

  /**
   * The file that a log means, as an absolute path.
   * @param named absolute, or relative to the project's folder; a log may say anything.
   * @returns undefined for what is no file, or not within the folder, also by a link.
   */
  find(named: string): Promise<string | undefined> {
    if (this.#clock.monotonic() - this.#since > believedFor || this.#known.size >= mostKnown) {
      this.#known.clear();
      this.#since = this.#clock.monotonic();
    }
    const found = this.#known.get(named) ?? this.#look(named);
    this.#known.set(named, found);
    return found;
  }

  async #look(named: string): Promise<string | undefined> {
    // A share of the network would be asked for, which no log may bring about.
    if (/^[\\/]{2}/.test(named) || named.includes("\0")) return undefined;
    const path = resolve(this.#root, sep === "/" ? named.replaceAll("\\", "/") : named);
    if (!isWithin(this.#root, path)) return undefined;
    try {
      const [root, real] = await Promise.all([realpath(this.#root), realpath(path)]);
      return isWithin(root, real) && (await stat(real)).isFile() ? path : undefined;
    } catch {
      return undefined;
    }
  }
}

function isWithin(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== "" && way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}
