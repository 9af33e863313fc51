/** What a key may do. Given are only that members cancel and that every role reads the org. */
export const roles = ["owner", "member", "viewer"] as const;

export type Role = (typeof roles)[number];

/** Whether the role may start and cancel runs and name projects. */
export function mayChangeRuns(role: Role): boolean {
  return role !== "viewer";
}

/** Whether the role may create, revoke and see other people's keys. */
export function mayManageKeys(role: Role): boolean {
  return role === "owner";
}
