import { mysqlSuite } from "./mysqlSuite.ts";

mysqlSuite("MySQL");
