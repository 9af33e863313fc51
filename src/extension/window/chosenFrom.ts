import type { QuickPick, QuickPickItem } from "vscode";

/** Shows a quick pick until one of its rows is chosen. @returns the row; undefined if the person cancels. */
export async function chosenFrom<Item extends QuickPickItem>(
  pick: QuickPick<Item>,
): Promise<Item | undefined> {
  try {
    return await new Promise<Item | undefined>((resolve) => {
      pick.onDidAccept(() => {
        const [item] = pick.selectedItems;
        if (item !== undefined) resolve(item);
      });
      pick.onDidHide(() => resolve(undefined));
      pick.show();
    });
  } finally {
    pick.dispose();
  }
}
