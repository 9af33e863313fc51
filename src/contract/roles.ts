/**
 * What a key may do. Given are only that members cancel and that every role reads the org. A `runner` is no person: it takes
 * work of its org and nothing else (contract: "Many machines").
 */
export const roles = ["owner", "member", "viewer", "runner"] as const;

/** The name of the org of the runners that take work of every org. It has no runs. */
export const everyOrg = "*";

export type Role = (typeof roles)[number];

/** Whether the role may start and cancel runs and name projects. */
export function mayChangeRuns(role: Role): boolean {
  return role === "owner" || role === "member";
}

/** Whether the role may create, revoke and see other people's keys. */
export function mayManageKeys(role: Role): boolean {
  return role === "owner";
}
