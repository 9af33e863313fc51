import type { Campaign } from "./campaign.ts";
import { processes } from "./processes/processes.ts";
import { storage } from "./storage/storage.ts";

/** What there is to be tormented. */
export const campaigns: readonly Campaign[] = [processes, storage];
