import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { Hono } from "hono";
import { PipelineError } from "../../contract/errors.ts";
import { runFolder } from "../runFolder.ts";
import { readRun } from "../store/runs.ts";
import type { AppDeps } from "./appDeps.ts";
import type { SignedIn } from "./authenticate.ts";
import { contentDisposition } from "./contentDisposition.ts";
import { noSuchRun } from "./noSuchRun.ts";
import { refuseRemoved } from "./removedFiles.ts";

/** What a browser may show by itself. Anything else a program might take for a page, and is only to be saved. */
const shown: Readonly<Record<string, string>> = {
  "image/png": "image/png",
  "image/jpeg": "image/jpeg",
  "application/json": "application/json",
  "text/plain": "text/plain; charset=utf-8",
};

const pieceSize = 64 * 1024;

/**
 * `GET /api/runs/{id}/artifacts/{file}`: what a step kept, which may come from anywhere and is trusted in nothing. The
 * headers that every reply carries let it run nothing.
 */
export function artifactRoutes({ db, folder }: Pick<AppDeps, "db" | "folder">): Hono<SignedIn> {
  const routes = new Hono<SignedIn>();
  routes.get("/:id/artifacts/:file", async (context) => {
    const { id: runId, file } = context.req.param();
    const run = (await readRun(db, context.get("caller"), runId)) ?? noSuchRun(runId);
    await refuseRemoved(db, runId);
    // Only what is in the run's list is opened, so that no name leads out of its folder.
    const artifact = run.artifacts?.find((kept) => kept.file === file) ?? noSuchArtifact();
    const handle = await openThere(join(runFolder(folder, runId).artifacts, artifact.file));
    const { size } = await handle.stat();
    const type = shown[artifact.mediaType.split(";", 1)[0]?.trim().toLowerCase() ?? ""];
    const headers = {
      "content-type": type ?? "application/octet-stream",
      "content-length": String(size),
      "content-disposition": contentDisposition(type === undefined ? "attachment" : "inline", artifact.name),
    };
    if (context.req.method === "HEAD") {
      await handle.close();
      return context.body(null, 200, headers);
    }
    const { outgoing } = context.env;
    return context.body(
      bytesOf(handle, () => outgoing.destroy()),
      200,
      headers,
    );
  });
  return routes;
}

/** The file's bytes, read as they are asked for. Closes the file when all are read, and when the reader leaves. */
function bytesOf(handle: FileHandle, breakOff: () => void): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const piece = new Uint8Array(pieceSize);
        const { bytesRead } = await handle.read(piece).catch(() => {
          breakOff();
          return { bytesRead: 0 };
        });
        if (bytesRead > 0) return controller.enqueue(piece.subarray(0, bytesRead));
        await handle.close();
        controller.close();
      },
      cancel: () => handle.close(),
    },
    { highWaterMark: 0 },
  );
}

async function openThere(path: string): Promise<FileHandle> {
  try {
    return await open(path, "r");
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return noSuchArtifact();
    throw cause;
  }
}

function noSuchArtifact(): never {
  throw new PipelineError("not-found", "The run has no such artifact.", {
    next: "The run itself lists what its steps kept.",
  });
}
