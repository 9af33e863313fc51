import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
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
  address(name: AssetName): Promise<string>;
  readonly routes: Hono;
}

/** The page's style, script and icon from the build's `folder`; each is read once. */
export function openAssets(folder: string): Assets {
  const read = new Map<AssetName, Promise<Asset>>();
  const asset = (name: AssetName): Promise<Asset> => {
    const known = read.get(name);
    if (known !== undefined) return known;
    const reading = readAsset(join(folder, name));
    read.set(name, reading);
    // Not cached: the build may still be running.
    reading.catch(() => read.delete(name));
    return reading;
  };

  const routes = new Hono();
  routes.get("/:name", async (context) => {
    const name = context.req.param("name");
    if (!isAssetName(name)) return context.notFound();
    const { body, version } = await asset(name);
    const isExact = context.req.query("v") === version;
    context.header("cache-control", isExact ? "public, max-age=31536000, immutable" : "no-cache");
    return context.body(body, 200, { "content-type": mediaTypes[name] });
  });

  return {
    address: async (name) => `/app/assets/${name}?v=${(await asset(name)).version}`,
    routes,
  };
}

async function readAsset(file: string): Promise<Asset> {
  const body = await readFile(file, "utf8");
  return { body, version: createHash("sha256").update(body).digest("hex").slice(0, 16) };
}

function isAssetName(name: string): name is AssetName {
  return Object.hasOwn(mediaTypes, name);
}
