import type { Claims } from "../../src/extension/window/claims.ts";

/** Claims that several windows of a test share. */
export function memoryClaims(): Claims & { readonly claimed: Set<string> } {
  const claimed = new Set<string>();
  const take = (name: string): boolean => {
    const isFirst = !claimed.has(name);
    claimed.add(name);
    return isFirst;
  };
  return {
    claimed,
    claim: async (name) => take(name),
  };
}
