import { html } from "hono/html";
import type { Artifact } from "../../contract/run.ts";
import type { Html } from "./html.ts";

/** What the service lets a browser show as a picture. */
const pictures: ReadonlySet<string> = new Set(["image/png", "image/jpeg"]);

/** What a step kept: pictures to be seen, anything else as a link. */
export function artifactsView(runId: string, stepName: string, artifacts: readonly Artifact[]): Html {
  const shown = artifacts.filter(({ mediaType }) => pictures.has(mediaType));
  const others = artifacts.filter(({ mediaType }) => !pictures.has(mediaType));
  return html`${shown.map(
    (artifact) => html`<figure class="picture" id="kept-${artifact.file}">
<a href="${addressOf(runId, artifact)}"><img src="${addressOf(runId, artifact)}" alt="${artifact.name}, kept by the step ${stepName}" loading="lazy"></a>
<figcaption class="quiet"><bdi>${artifact.name}</bdi>, ${sizeText(artifact.bytes)}</figcaption>
</figure>`,
  )}${
    others.length === 0
      ? ""
      : html`<ul class="kept">${others.map(
          (artifact) =>
            html`<li><a href="${addressOf(runId, artifact)}"><bdi>${artifact.name}</bdi></a> <span class="quiet">${sizeText(artifact.bytes)}</span></li>`,
        )}</ul>`
  }`;
}

function addressOf(runId: string, { file }: Artifact): string {
  return `/app/runs/${runId}/artifacts/${encodeURIComponent(file)}`;
}

/** A size as a person reads it: `512 bytes`, `1.2 kB`, `3.4 MB`. */
function sizeText(bytes: number): string {
  if (bytes < 1000) return bytes === 1 ? "1 byte" : `${bytes} bytes`;
  return bytes < 1_000_000 ? `${(bytes / 1000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
