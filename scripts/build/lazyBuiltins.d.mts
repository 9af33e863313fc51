import type { Plugin } from "esbuild";

export function lazyBuiltins(load: string): Plugin;
export function usedOfBuiltins(load: string): Plugin;
