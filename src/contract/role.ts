/** What a key may do (ours; the service's description gives only that members cancel and every role reads the org). */
export const roles = ["owner", "member", "viewer"] as const;

export type Role = (typeof roles)[number];

/** Starting and cancelling runs and naming projects: everyone but a viewer. */
export function mayChangeRuns(role: Role): boolean {
  return role !== "viewer";
}

/** Making, revoking and seeing other people's keys: owners alone. */
export function mayManageKeys(role: Role): boolean {
  return role === "owner";
}
