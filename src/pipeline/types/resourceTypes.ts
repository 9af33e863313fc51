import { browserType } from "./browser.ts";
import { cliType } from "./cli.ts";
import { httpType } from "./http.ts";
import type { ResourceType } from "./resourceType.ts";
import { sqlType } from "./sql.ts";

/** Every resource type that the parser reads. */
export const resourceTypes: readonly ResourceType[] = [httpType, sqlType, browserType, cliType];
