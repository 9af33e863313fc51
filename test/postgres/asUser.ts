// A program: becomes the command in its arguments, as another user. PostgreSQL refuses to run as root.
const [uid, gid, command, ...commandArguments] = process.argv.slice(2);
if (command === undefined) throw new Error("asUser: no command was given");
process.setgroups?.([]);
process.setgid?.(Number(gid));
process.setuid?.(Number(uid));
process.execve?.(command, [command, ...commandArguments], process.env);
