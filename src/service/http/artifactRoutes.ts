import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import type { Context } from "hono";
import { PipelineError } from "../../contract/errors.ts";
import { runFolder } from "../runs/runFolder.ts";
import type { Database } from "../store/tables.ts";
import type { SignedIn } from "./authenticate.ts";
import type { Endpoints } from "./endpoints.ts";
import { refuseRemoved, requestedRun } from "./requestedRun.ts";

/** The types that a browser may show. Any other is sent as an attachment: it might be taken for a page. */
const inlineTypes: Readonly<Record<string, string>> = {
  "image/png": "image/png",
  "image/jpeg": "image/jpeg",
  "application/json": "application/json",
  "text/plain": "text/plain; charset=utf-8",
};

const chunkBytes = 64 * 1024;

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
      summary: "An artifact of a run's step, such as a screenshot",
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

/** Sends an artifact, which may come from anywhere: under the headers of every reply, nothing in it runs. */
export async function sendArtifact<Env extends SignedIn>(
  context: Context<Env>,
  { id: runId, file }: { readonly id: string; readonly file: string },
  { db, folder }: ArtifactRouteDeps,
): Promise<Response> {
  const run = await requestedRun(db, context.get("caller"), runId);
  await refuseRemoved(db, runId);
  // Only a file in the run's list is opened: no name leads out of its folder.
  const artifact = run.artifacts?.find((listed) => listed.file === file) ?? noSuchArtifact();
  const handle = await openFile(join(runFolder(folder, runId).artifacts, artifact.file));
  const { size } = await handle.stat();
  const type = inlineTypes[artifact.mediaType.split(";", 1)[0]?.trim().toLowerCase() ?? ""];
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
    streamBytes(handle, () => outgoing.destroy()),
    200,
    headers,
  );
}

/** The file's bytes, read on demand. Closes the file at its end, and when the reader leaves. */
function streamBytes(handle: FileHandle, breakOff: () => void): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const piece = new Uint8Array(chunkBytes);
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

async function openFile(path: string): Promise<FileHandle> {
  try {
    return await open(path, "r");
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return noSuchArtifact();
    throw cause;
  }
}

function noSuchArtifact(): never {
  throw new PipelineError("not-found", "The run has no such artifact.", {
    next: "The run itself lists its artifacts.",
  });
}

/**
 * The `Content-Disposition` header (RFC 6266): the name itself in the encoding of RFC 8187, and for other readers a name
 * in which `_` replaces what could end the text or a path.
 */
export function contentDisposition(kind: "inline" | "attachment", name: string): string {
  const plain = name.replace(/[^\x20-\x7e]|["\\/%;]/gu, "_");
  const encoded = encodeURIComponent(name.toWellFormed()).replace(
    /['()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `${kind}; filename="${plain}"; filename*=UTF-8''${encoded}`;
}
