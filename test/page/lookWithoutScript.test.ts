import { inBrowser } from "./inBrowser.ts";
import { noBarriers } from "./noBarriers.ts";

describe("the look of the page in a browser that runs none of its script", () => {
  noBarriers(inBrowser(), false);
});
