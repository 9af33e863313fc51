/** The tool's exit codes that no error of the registry stands for (contract: "The command-line tool"). */
export const exitCodes = {
  done: 0,
  runDidNotSucceed: 1,
  problemsFound: 1,
  wrongUsage: 2,
  refusedByLimit: 5,
  interrupted: 130,
} as const;
