import { posix, resolve } from "node:path";
import { build } from "esbuild";

/** Lets the tool find the protocol's library beside it. It is imported by `pipeline mcp` alone, a chunk in a folder below `dist`. */
export const importMcp = {
  name: "import-mcp",
  setup(main) {
    main.onResolve({ filter: /^@modelcontextprotocol\/server(\/stdio)?$/ }, () => ({
      path: "../vendor/mcp.js",
      external: true,
    }));
  },
};

/**
 * Builds what `pipeline mcp` uses of the protocol's library, with a zod of its own: in one build with the tool, what it needs of zod
 * would be loaded by every command.
 *
 * @param moduleOptions of a build of ES modules.
 * @param noting a plugin for its build.
 * @returns the files that were made.
 */
export async function buildMcp({ outdir, ...moduleOptions }, noting) {
  const { metafile } = await build({
    ...moduleOptions,
    stdin: {
      contents:
        'export { McpServer, parseJSONRPCMessage, ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server"; export { serveStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio";',
      resolveDir: import.meta.dirname,
    },
    alias: { "@modelcontextprotocol/server/_shims": resolve(import.meta.dirname, "mcpShims.mjs") },
    keepNames: false,
    splitting: false,
    outfile: posix.join(outdir, "vendor/mcp.js"),
    plugins: [noting],
  });
  return Object.keys(metafile.outputs);
}
