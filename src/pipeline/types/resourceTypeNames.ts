/** The resource types; the service has no others (contract: "Limits"). */
export const resourceTypeNames = ["http", "sql", "browser", "cli"] as const;
export type ResourceTypeName = (typeof resourceTypeNames)[number];
