import type { ArtifactRouteDeps } from "./artifactRoutes.ts";
import type { Endpoints } from "./endpoints.ts";
import type { EveryRequestDeps } from "./everyRequest.ts";
import type { KeyRouteDeps } from "./keyRoutes.ts";
import type { LogRouteDeps } from "./logRoutes.ts";
import type { OrgRouteDeps } from "./orgRoutes.ts";
import type { ProjectRouteDeps } from "./projectRoutes.ts";
import type { HttpProblem } from "./reply.ts";
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
    /** What a larger service adds to this one. */
    readonly added?: {
      readonly addRoutes: (endpoints: Endpoints) => void;
      /** What is answered for an error of what it adds; undefined for any other. */
      readonly problemOf: (error: unknown) => HttpProblem | undefined;
    };
    /** Names the service's data, as every server and every start of it does: the folder, or the database. */
    readonly dataName: string;
    /** The built style and script of the page; undefined for none. */
    readonly pageFolder: string | undefined;
  };
