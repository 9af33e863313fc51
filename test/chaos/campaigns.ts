import type { Campaign } from "./campaign.ts";
import { machines } from "./machines/machines.ts";
import { network } from "./network/network.ts";
import { processes } from "./processes/processes.ts";

/** Every campaign. */
export const campaigns: readonly Campaign[] = [network, processes, machines];
