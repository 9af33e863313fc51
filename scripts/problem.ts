/** What stops a script: one sentence on what is wrong, one on the next step. It is shown as it is, without a stack. */
export class Problem extends Error {
  constructor(whatIsWrong: string, nextStep: string, options?: ErrorOptions) {
    super(`${whatIsWrong} ${nextStep}`, options);
    this.name = "Problem";
  }
}
