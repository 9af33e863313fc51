import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Hono } from "hono";

const mediaTypes = {
  "page.css": "text/css; charset=utf-8",
  "page.js": "text/javascript; charset=utf-8",
  "icon.svg": "image/svg+xml",
} as const;

type AssetName = keyof typeof mediaTypes;

interface Asset {
  readonly body: string;
  readonly version: string;
}

export interface Assets {
  /** The asset's address with its version, so that a browser may cache it forever. */
  address(name: AssetName): string;
  readonly routes: Hono;
}

/** The page's style, script and icon from the build's `folder`; each is read once. */
export function openAssets(folder: string): Assets {
  const read = new Map<AssetName, Asset>();
  const asset = (name: AssetName): Asset => {
    const known = read.get(name) ?? readAsset(join(folder, name));
    read.set(name, known);
    return known;
  };

  const routes = new Hono();
  routes.get("/:name", (context) => {
    const name = context.req.param("name");
    if (!isAssetName(name)) return context.notFound();
    const { body, version } = asset(name);
    const isExact = context.req.query("v") === version;
    context.header("cache-control", isExact ? "public, max-age=31536000, immutable" : "no-cache");
    return context.body(body, 200, { "content-type": mediaTypes[name] });
  });

  return {
    address: (name) => `/app/assets/${name}?v=${asset(name).version}`,
    routes,
  };
}

function readAsset(file: string): Asset {
  const body = readFileSync(file, "utf8");
  return { body, version: hash("sha256", body).slice(0, 16) };
}

function isAssetName(name: string): name is AssetName {
  return Object.hasOwn(mediaTypes, name);
}
