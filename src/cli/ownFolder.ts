import { lstatSync, mkdirSync, readlinkSync, type Stats } from "node:fs";
import { join, parse, resolve, sep } from "node:path";

/**
 * Makes a folder that code is run from, for this user alone, or looks whether the one that is there is: it must be this user's,
 * no group and no others may write to it, and nobody else can put another folder or a link into its place. Where users have no
 * number, as on Windows, the access list of the profile that it is in says who may, and nothing is looked at.
 *
 * @returns the folder itself, to which no link leads.
 * @throws Error that says what isn't this user's alone, or why it can't be made.
 */
export function ownFolder(path: string): string {
  const own = process.getuid?.();
  if (own === undefined) {
    mkdirSync(path, { recursive: true });
    return resolve(path);
  }
  const { folder, facts } = reach(resolve(path), own);
  assertOwn(folder, facts, own);
  return folder;
}

/** @throws Error when one of what is in an own folder isn't this user's alone as well: it may have been put there before. */
export function assertOwnParts(folder: string, names: readonly string[]): void {
  const own = process.getuid?.();
  if (own === undefined) return;
  for (const name of names) assertOwn(join(folder, name), lstatSync(join(folder, name)), own);
}

function assertOwn(path: string, { uid, mode }: Stats, own: number): void {
  if (uid !== own) throw new Error(`${path} is another user's`);
  if ((mode & 0o022) !== 0) throw new Error(`others may write to ${path}`);
}

/**
 * Goes to a folder part by part, through links and making what is missing, where nobody else can exchange a part: so what was seen
 * of a folder still holds when the next part is looked at.
 */
function reach(path: string, own: number): { readonly folder: string; readonly facts: Stats } {
  const { root } = parse(path);
  const ofRoot = lstatSync(root);
  // Who has the root folder has all the rest. Seen from inside a container that need not be number 0.
  const trusted = new Set([0, own, ofRoot.uid]);
  const parts = partsOf(path);
  let folder = root;
  let facts = ofRoot;
  let links = 0;
  for (let part = parts.shift(); part !== undefined; part = parts.shift()) {
    if (isOpen(facts, own)) throw new Error(`others may write to ${folder}`);
    const next = join(folder, part);
    const found = lstatSync(next, { throwIfNoEntry: false }) ?? make(next);
    if (!trusted.has(found.uid)) throw new Error(`${next} is another user's`);
    if (found.isSymbolicLink()) {
      links += 1;
      if (links > mostLinks) throw new Error(`${path} is a link without an end`);
      parts.unshift(...partsOf(resolve(folder, readlinkSync(next))));
      folder = root;
      facts = ofRoot;
    } else {
      folder = next;
      facts = found;
    }
  }
  return { folder, facts };
}

const mostLinks = 40;

function partsOf(path: string): string[] {
  return path.split(sep).filter((part) => part !== "");
}

function make(folder: string): Stats {
  // Another tool may make it at the same time.
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return lstatSync(folder);
}

/**
 * Whether others can exchange what is in a folder on the way. They can't in a sticky one (`/tmp`), nor where the group that may
 * write is the one that many systems make for each user, which has the user's number.
 */
function isOpen({ uid, gid, mode }: Stats, own: number): boolean {
  if ((mode & 0o1000) !== 0) return false;
  const isOfOwnGroup = uid === own && gid === own;
  return (mode & (isOfOwnGroup ? 0o002 : 0o022)) !== 0;
}
