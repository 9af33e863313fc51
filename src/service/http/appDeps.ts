import type { ArtifactRouteDeps } from "./artifactRoutes.ts";
import type { Endpoints } from "./endpoints.ts";
import type { EveryRequestDeps } from "./everyRequest.ts";
import type { KeyRouteDeps } from "./keyRoutes.ts";
import type { LogRouteDeps } from "./logRoutes.ts";
import type { OrgRouteDeps } from "./orgRoutes.ts";
import type { ProjectRouteDeps } from "./projectRoutes.ts";
import type { RunRouteDeps } from "./runRoutes.ts";
import type { ServiceRouteDeps } from "./serviceRoutes.ts";
import type { StartRouteDeps } from "./startRoute.ts";

/** What all routes need; each takes its part. */
export type AppDeps = ServiceRouteDeps &
  OrgRouteDeps &
  StartRouteDeps &
  RunRouteDeps &
  LogRouteDeps &
  ArtifactRouteDeps &
  ProjectRouteDeps &
  KeyRouteDeps &
  EveryRequestDeps & {
    /** What many servers on one database add. */
    readonly many?: {
      readonly addRoutes: (endpoints: Endpoints) => void;
      /** Aborted when this server stops, so that its callers ask another one. */
      readonly stopping: AbortSignal;
    };
    /** Names the service's data, as every server and every start of it does: the folder, or the database. */
    readonly dataName: string;
    /** The built style and script of the page; undefined for none. */
    readonly pageFolder: string | undefined;
  };
