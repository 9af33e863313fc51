import type { Claims } from "../../src/extension/windows/claim.ts";

/** Claims that several windows of a test share. */
export function memoryClaims(): Claims & { readonly claimed: Set<string> } {
  const claimed = new Set<string>();
  return {
    claimed,
    claim: async (name) => {
      if (claimed.has(name)) return false;
      claimed.add(name);
      return true;
    },
  };
}
