// Waits as many seconds as it is told, counting them.
const seconds = Number(process.argv[2]);
for (let second = 1; second <= seconds; second += 1) {
  await new Promise((done) => setTimeout(done, 1000));
  console.log(`${second} of ${seconds}`);
}
console.log(`waited ${seconds} seconds`);
