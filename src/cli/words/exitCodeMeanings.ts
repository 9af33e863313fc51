/** Every exit code of the tool with its meaning (contract: "The command-line tool"); shown by the help and the man page. */
export const exitCodeMeanings = [
  [0, "done"],
  [1, "a run did not succeed, or a file has problems"],
  [2, "wrong usage, or what was named isn't there"],
  [3, "no API key, or a refused one"],
  [4, "the service is out of reach, or breaks the contract"],
  [5, "a limit refused the run"],
  [130, "interrupted"],
] as const satisfies readonly (readonly [code: number, meaning: string])[];
