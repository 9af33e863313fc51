/**
 * What a key may do. The contract says only that members cancel and that every role reads the org. A `runner` isn't a person: it
 * takes its org's work and does nothing else (contract: "Many machines").
 */
export const roles = ["owner", "member", "viewer", "runner"] as const;

/** The name of the org of runners that take work of every org. It has no runs. */
export const everyOrgName = "*";

export type Role = (typeof roles)[number];

/** Whether the role may start and cancel runs and name projects. */
export function mayChangeRuns(role: Role): boolean {
  return role === "owner" || role === "member";
}

/** Whether the role may create and revoke keys, and see other people's. */
export function mayManageKeys(role: Role): boolean {
  return role === "owner";
}
