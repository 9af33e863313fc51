import { posix } from "node:path";
import { build } from "esbuild";

/**
 * Lets what our programs import of undici be found beside them, once for the tool and the runner. It is imported when a request is to
 * be sent, and so by chunks alone, each a folder below `dist`.
 */
export const importUndici = {
  name: "import-undici",
  setup(main) {
    main.onResolve({ filter: /^undici$/ }, () => ({ path: "../vendor/undici.js", external: true }));
  },
};

/**
 * Builds what the tool and the runner use of undici, which is larger than all else that each of them is made of.
 *
 * @param moduleOptions of a build of ES modules.
 * @param noting a plugin for its build.
 * @returns the files that were made.
 */
export async function buildUndici({ outdir, ...moduleOptions }, noting) {
  const { metafile } = await build({
    ...moduleOptions,
    stdin: {
      contents:
        'export { Agent, buildConnector, EnvHttpProxyAgent, errors, fetch, FormData, Headers, interceptors, Pool, ProxyAgent, request } from "undici";',
      resolveDir: import.meta.dirname,
    },
    splitting: false,
    outfile: posix.join(outdir, "vendor/undici.js"),
    plugins: [noting],
  });
  return Object.keys(metafile.outputs);
}
