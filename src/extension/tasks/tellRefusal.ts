import { exitCodes } from "../../contract/exitCodes.ts";
import { type Hint, type RefusedStart, refusalReport } from "../../contract/refusal.ts";
import { visible } from "../../contract/visible.ts";
import { look, type TaskScreen } from "./taskScreen.ts";

/**
 * Prints the refusal with its hints.
 * @param told hints of a service's own tool, when it was the one that was refused.
 * @returns the exit code.
 */
export function tellRefusal(refused: RefusedStart, screen: TaskScreen, told?: readonly Hint[]): number {
  const { error, hints } = refusalReport(refused);
  screen.line(look.bad(`${visible(refused.pipeline)}: ${error.type}. ${error.message}`));
  for (const { command, doc } of told ?? hints) {
    screen.line(`  ${look.bold(visible(command))}  ${look.dim(visible(doc))}`);
  }
  return exitCodes.refusedByLimit;
}
