import { PipelineError } from "../../contract/errors.ts";
import { openInBrowser } from "../openInBrowser.ts";
import type { Tool } from "../tool.ts";

/**
 * `pipeline page`: a link that signs a browser in to the page. With `open` the system's browser is given it, for which
 * it stands in the process list for a moment; that is why it has to be asked for.
 * @throws PipelineError `breaks-contract` for a link that leads elsewhere than to the service.
 */
export async function showPage(tool: Tool, options: { readonly open: boolean }): Promise<number> {
  const client = await tool.connect();
  const { url } = await client.signInLink(tool.interrupted);
  if (new URL(url).origin !== client.baseUrl.origin) {
    throw new PipelineError("breaks-contract", "The service's sign-in link leads to another address.");
  }
  tool.output.exactResult("page", { url }, url);
  if (!tool.output.json) tool.output.note("It works once, within a minute.");
  if (options.open && !(await openInBrowser(url, tool.env))) {
    tool.output.note("No browser could be opened: open the link yourself.");
  }
  return 0;
}
