/** What the runner's program is told when it is to be the process in which SQLite runs. */
export const sqliteArgument = "--sqlite";
