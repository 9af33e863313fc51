import type { Campaign } from "./campaign.ts";
import { processes } from "./processes/processes.ts";

/** What there is to be tormented. */
export const campaigns: readonly Campaign[] = [processes];
