/** Under which the workspace keeps the service that was chosen for it; a window looks for it when it opens. */
export const choiceName = "chosenService";
