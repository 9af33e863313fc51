import type { PipelineError } from "../../contract/errors.ts";
import type { Leaving, ServiceState } from "../../contract/service.ts";
import type { Admission } from "../admission/admission.ts";
import type { LogStore } from "../runs/logStore.ts";
import type { Pipelines } from "../runs/projectPipelines.ts";
import type { Runs } from "../runs/runs.ts";
import type { MakeId } from "../store/ids.ts";
import type { StoreDeps } from "../store/storeDeps.ts";
import type { Endpoints } from "./endpoints.ts";
import type { EveryRequestDeps } from "./everyRequest.ts";
import type { OrgEvents } from "./orgEvents.ts";
import type { HttpProblem } from "./reply.ts";

/** What the routes need. */
export interface AppDeps extends EveryRequestDeps, StoreDeps {
  readonly events: OrgEvents;
  readonly makeId: MakeId;
  readonly admission: Admission;
  readonly runs: Runs;
  readonly logs: LogStore;
  readonly pipelines: Pipelines;
  /** Identifies this start of the service; see the connection file. */
  readonly instance: string;
  /** Undefined where the service runs from its sources. */
  readonly version: string | undefined;
  /** Aborted when the service shuts down; no face should use it from then on. */
  readonly stopping: AbortSignal;
  /** Only in this machine's own service, which alone knows the machine's folders. */
  readonly machine: MachineDeps | undefined;
  /** Loads what a start needs and readies a process for its run, where runs are processes of this machine. */
  readonly prepare?: (environment: readonly string[] | undefined) => void;
  /** Called with a run that is being cancelled: if nobody holds it, only its recovery can end it. */
  readonly recover: (runId: string) => void;
  /** What a larger service adds to this one. */
  readonly added?: {
    readonly addRoutes: (endpoints: Endpoints) => void;
    /** The problem to reply with for an error of the added parts; undefined for any other error. */
    readonly problemOf: (error: unknown) => HttpProblem | undefined;
  };
  /** Identifies the service's data, the same on every server and at every start: the folder, or the database. */
  readonly dataName: string;
  /** The built style and script of the page; undefined for none. */
  readonly pageFolder: string | undefined;
}

export interface MachineDeps {
  readonly handOver: () => Leaving;
  readonly state: () => Promise<ServiceState>;
  /** Shuts the service down. Resolves once its runs have ended, with the state as it was before. */
  readonly stop: () => Promise<ServiceState>;
  /** Why no run can begin any more: the runner's program was removed. The service then ends if it may. */
  readonly whyUnrunnable: () => PipelineError | undefined;
  /** The id of the key that this machine's own faces use. */
  readonly keyId: string;
}
