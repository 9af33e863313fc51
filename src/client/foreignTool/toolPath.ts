import { constants } from "node:fs";
import { access, readlink, realpath, stat } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { PipelineError } from "../../contract/errors.ts";

/** More links in a row than any system follows. */
const mostLinks = 40;

/**
 * Checks that a tool may get the API key: an absolute path of an executable file outside the given folders, links included.
 * A relative path would depend on the working folder, and a workspace's files come from others.
 *
 * @throws PipelineError `usage` with the reason.
 */
export async function checkToolPath(path: string, folders: readonly string[]): Promise<void> {
  if (!isAbsolute(path)) throw unusable(path, "is no absolute path");
  for (const place of await placesOf(path)) {
    for (const folder of folders) {
      if (isInside(place, resolve(folder)) || isInside(place, await realOf(folder))) {
        throw unusable(path, "lies in a folder of this window, whose files must not be given the API key");
      }
    }
  }
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) throw unusable(path, "is not there");
  if (!found.isFile()) throw unusable(path, "is no file");
  try {
    await access(path, constants.X_OK);
  } catch {
    throw unusable(path, "is not executable");
  }
}

/** The path, and every target of its links. */
async function placesOf(path: string): Promise<string[]> {
  const places = [resolve(path)];
  for (let at = resolve(path); places.length < mostLinks; ) {
    const here = join(await realOf(dirname(at)), at.slice(dirname(at).length));
    places.push(here);
    const target = await readlink(here).catch(() => undefined);
    if (target === undefined) break;
    at = resolve(dirname(here), target);
    places.push(at);
  }
  return places;
}

function realOf(path: string): Promise<string> {
  return realpath(path).catch(() => resolve(path));
}

function isInside(place: string, folder: string): boolean {
  const path = relative(folder, place);
  return path === "" || (path !== ".." && !path.startsWith(`..${sep}`) && !isAbsolute(path));
}

function unusable(path: string, why: string): PipelineError {
  return new PipelineError("usage", `The setting pipelineRuns.cliPath can't be used: ${path} ${why}.`, {
    next: "Set it to the service's own tool, as an absolute path outside the workspace.",
  });
}
