import type { ToolCommand } from "./command.ts";

/** The commands on the org, the page and the logins. */
export function addAccountCommands(program: ToolCommand): void {
  program
    .add("org", { summary: "show the org, its limits and today's usage" })
    .does(async () => (await import("./org.ts")).showOrg);

  program
    .add("page", {
      summary: "print a link that opens the page in a browser, signed in; it works once, within a minute",
      examples: [
        ["pipeline page", "a link to open yourself"],
        ["pipeline page --open", "the page itself"],
        ["pipeline page --open run_01kb3v9d2n5q8s1t4w7y0z3a6c", "a run with its log and what it kept"],
      ],
    })
    .argument("[id]", "the run to open it at (else the list of runs)")
    .option("--open", "open it in the browser")
    .does(async () => (await import("./page.ts")).showPage);

  program
    .add("login", {
      summary: "log in to a service with an API key, and use that service from now on",
      description:
        "Log in to a service: asks for an API key without showing it, or reads it from standard input; tries it; " +
        "and saves it for that service alone, in a file that only you can read. " +
        "Commands use the service from then on. PIPELINE_BASE_URL and PIPELINE_API_KEY take precedence over a login.",
      examples: [
        ["pipeline login https://pipelines.example.com", "asks for the key"],
        ["pipeline login https://pipelines.example.com < key.txt", "reads it from a file"],
      ],
    })
    .argument("[base-url]", "the service (else PIPELINE_BASE_URL, else it is asked for)")
    // The parser's own message would show excess arguments, here most likely a key.
    .allowExcessArguments()
    .hook("preAction", (login) => {
      if (login.args.length > 1)
        login.error("error: a login takes an address and no more; the key is asked for");
    })
    .does(async () => (await import("./logins.ts")).login);

  program
    .add("logout", {
      summary: "forget a service's API key and go back to this machine's own service",
      examples: [
        ["pipeline logout", "forgets the key of the service in use"],
        ["pipeline logout --all", "forgets every key"],
      ],
    })
    .argument("[base-url]", "the service (else PIPELINE_BASE_URL, else the one in use)")
    .option("--all", "every service that you have logged in to")
    .does(async () => (await import("./logins.ts")).logout);

  program
    .add("logins", {
      summary: "show which service is used and why, and those that you have logged in to; never a key",
      examples: [["pipeline logins", "the one marked with * is the one that you logged in to last"]],
    })
    .does(async () => (await import("./logins.ts")).listLogins);
}
