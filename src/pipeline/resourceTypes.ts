import { browserType } from "./browser/browserType.ts";
import { cliType } from "./cli/cliType.ts";
import { httpType } from "./http/httpType.ts";
import type { ResourceType } from "./resourceType.ts";
import { sqlType } from "./sql/sqlType.ts";

/** Every resource type that the parser reads. */
export const resourceTypes: readonly ResourceType[] = [httpType, sqlType, browserType, cliType];
