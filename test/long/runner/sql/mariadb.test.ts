// The tests of MySQL, once more: behind another query Node loads the same file anew.
await import(import.meta.resolve("../../../runner/sql/mysql.test.ts?MariaDB"));
