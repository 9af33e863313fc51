import type { Endpoint } from "./endpoint.ts";
import { keyEndpoints } from "./keyEndpoints.ts";
import { orgEndpoints } from "./orgEndpoints.ts";
import { pageEndpoints } from "./pageEndpoints.ts";
import { projectEndpoints } from "./projectEndpoints.ts";
import { runEndpoints } from "./runEndpoints.ts";
import { serviceEndpoints } from "./serviceEndpoints.ts";

/** Every route of `http/app.ts` but the page, which is for people. */
export const endpoints: readonly Endpoint[] = [
  ...serviceEndpoints,
  ...orgEndpoints,
  ...runEndpoints,
  ...projectEndpoints,
  ...keyEndpoints,
  ...pageEndpoints,
];
