import { resolve } from "node:path";

/** The folder of this repository, wherever a script is started from. */
export const projectRoot = resolve(import.meta.dirname, "..");
