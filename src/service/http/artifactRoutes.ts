import type { Context } from "hono";
import { PipelineError } from "../../contract/errors.ts";
import type { AppDeps } from "./appDeps.ts";
import type { SignedIn } from "./authenticate.ts";
import type { Endpoints } from "./endpoints.ts";
import { refuseRemoved, requestedRun } from "./runRoutes.ts";

/** The types that a browser may show. Any other is sent as an attachment, since a browser might treat it as a page. */
const inlineTypes: Readonly<Record<string, string>> = {
  "image/png": "image/png",
  "image/jpeg": "image/jpeg",
  "application/json": "application/json",
  "text/plain": "text/plain; charset=utf-8",
};

export function artifactRoutes(endpoints: Endpoints, deps: AppDeps): void {
  endpoints.add(
    {
      method: "get",
      path: "/api/runs/{id}/artifacts/{file}",
      summary: "An artifact of a run's step, such as a screenshot",
      description: "The run lists what there is. What a browser can't safely show is sent as an attachment.",
      access: "every role",
      params: { id: "The run's id.", file: "The artifact's `file`, as the run lists it." },
      reply: {
        description: "Its bytes.",
        bytes: ["image/png", "image/jpeg", "application/json", "text/plain", "application/octet-stream"],
      },
      errors: ["not-found"],
    },
    (context, { params }) => sendArtifact(context, params, deps),
  );
}

/** Sends an artifact. Its content is untrusted; the headers of every reply keep anything in it from running. */
export async function sendArtifact<Env extends SignedIn>(
  context: Context<Env>,
  { id: runId, file }: { readonly id: string; readonly file: string },
  { db, logs }: AppDeps,
): Promise<Response> {
  const run = await requestedRun(db, context.get("caller"), runId);
  await refuseRemoved(db, runId);
  // Only a file in the run's list is opened, so no name can lead out of the run's folder.
  const artifact = run.artifacts?.find((listed) => listed.file === file) ?? noSuchArtifact();
  const content = (await logs.openArtifact(runId, artifact.file)) ?? noSuchArtifact();
  const type = inlineTypes[artifact.mediaType.split(";", 1)[0]?.trim().toLowerCase() ?? ""];
  const headers = {
    "content-type": type ?? "application/octet-stream",
    "content-length": String(content.size),
    "content-disposition": contentDisposition(type === undefined ? "attachment" : "inline", artifact.name),
  };
  if (context.req.method === "HEAD") {
    await content.close();
    return context.body(null, 200, headers);
  }
  return context.body(content.stream(), 200, headers);
}

function noSuchArtifact(): never {
  throw new PipelineError("not-found", "The run has no such artifact.", {
    next: "The run itself lists its artifacts.",
  });
}

/**
 * The `Content-Disposition` header (RFC 6266): the name encoded as in RFC 8187, and for older readers a plain name in
 * which `_` replaces whatever could end the quoted text or form a path.
 */
export function contentDisposition(kind: "inline" | "attachment", name: string): string {
  const plain = name.replace(/[^\x20-\x7e]|["\\/%;]/gu, "_");
  const encoded = encodeURIComponent(name.toWellFormed()).replace(
    /['()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `${kind}; filename="${plain}"; filename*=UTF-8''${encoded}`;
}
