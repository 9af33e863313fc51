import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import type { Context } from "hono";
import { PipelineError } from "../../contract/errors.ts";
import { runFolder } from "../runs/runFolder.ts";
import type { Database } from "../store/tables.ts";
import type { SignedIn } from "./authenticate.ts";
import type { Endpoints } from "./endpoints.ts";
import { refuseRemoved, requestedRun } from "./requestedRun.ts";

/** What a browser may show by itself. Anything else a program might take for a page, and is only to be saved. */
const shown: Readonly<Record<string, string>> = {
  "image/png": "image/png",
  "image/jpeg": "image/jpeg",
  "application/json": "application/json",
  "text/plain": "text/plain; charset=utf-8",
};

const pieceSize = 64 * 1024;

export interface ArtifactRouteDeps {
  readonly db: Database;
  /** The data folder. */
  readonly folder: string;
}

export function artifactRoutes(endpoints: Endpoints, deps: ArtifactRouteDeps): void {
  endpoints.add(
    {
      method: "get",
      path: "/api/runs/{id}/artifacts/{file}",
      group: "runs",
      summary: "Something that a step of a run kept, such as a screenshot",
      description: "The run lists what there is. What a browser can't safely show is sent as an attachment.",
      access: "every role",
      parts: { id: "The run's id.", file: "The artifact's `file`, as the run lists it." },
      reply: {
        description: "Its bytes.",
        bytes: ["image/png", "image/jpeg", "application/json", "text/plain", "application/octet-stream"],
      },
      errors: ["not-found"],
    },
    (context, { parts }) => sendArtifact(context, parts, deps),
  );
}

/**
 * What a step kept, which may come from anywhere and is trusted in nothing. The headers that every reply carries let it
 * run nothing.
 */
export async function sendArtifact<Env extends SignedIn>(
  context: Context<Env>,
  { id: runId, file }: { readonly id: string; readonly file: string },
  { db, folder }: ArtifactRouteDeps,
): Promise<Response> {
  const run = await requestedRun(db, context.get("caller"), runId);
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

/**
 * The header that names a file (RFC 6266): the name itself for who reads RFC 8187, and for all others one in which
 * whatever could end the text or a path stands as `_`.
 */
export function contentDisposition(kind: "inline" | "attachment", name: string): string {
  const plain = name.replace(/[^\x20-\x7e]|["\\/%;]/gu, "_");
  const encoded = encodeURIComponent(name.toWellFormed()).replace(
    /['()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `${kind}; filename="${plain}"; filename*=UTF-8''${encoded}`;
}
