/** Under which the workspace keeps the starts that are put off until 00:00 UTC; a window looks for it when it opens. */
export const retriesName = "retriesAtReset";
