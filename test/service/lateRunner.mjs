import { once } from "node:events";
import { enableCompileCache } from "node:module";
import { join } from "node:path";

// The built runner, loaded once its job is there: most of those that a service keeps ready never get one in a test.
enableCompileCache(join(import.meta.dirname, "../../node_modules/.cache/pipeline-runs/compiled"));
await once(process.stdin, "readable");
await import("../../dist/runner.js");
