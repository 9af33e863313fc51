// A runner that takes no time: its run has succeeded before anything was done.
process.stdout.write(`${JSON.stringify({ kind: "finished", outcome: "succeeded" })}\n`);
