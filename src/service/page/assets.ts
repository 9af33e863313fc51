import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Hono } from "hono";
import { PipelineError } from "../../contract/errors.ts";

const mediaTypes = new Map([
  ["page.css", "text/css; charset=utf-8"],
  ["page.js", "text/javascript; charset=utf-8"],
  ["icon.svg", "image/svg+xml"],
]);

export interface Assets {
  /** The asset's address with its version, so that a browser may cache it forever. */
  address(name: "page.css" | "page.js" | "icon.svg"): string;
  readonly routes: Hono;
}

/** The page's style, script and icon from the build's `folder`; each is read once. */
export function openAssets(folder: string): Assets {
  const assets = new Map<string, { readonly body: string; readonly version: string }>();
  const read = (name: string) => {
    const body = readFileSync(join(folder, name), "utf8");
    const asset = { body, version: hash("sha256", body).slice(0, 16) };
    assets.set(name, asset);
    return asset;
  };
  const assetOf = (name: string) => assets.get(name) ?? read(name);

  const routes = new Hono();
  routes.get("/:name", (context) => {
    const name = context.req.param("name");
    const type = mediaTypes.get(name);
    if (type === undefined)
      throw new PipelineError("not-found", "There is no such file.", { next: "Open the page again." });
    const { body, version } = assetOf(name);
    const isExact = context.req.query("v") === version;
    const cache = isExact ? "public, max-age=31536000, immutable" : "no-cache";
    return context.body(body, 200, { "content-type": type, "cache-control": cache });
  });

  return { address: (name) => `/app/assets/${name}?v=${assetOf(name).version}`, routes };
}
