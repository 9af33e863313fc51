import { mysqlSuite } from "../../../runner/sql/mysqlSuite.ts";

mysqlSuite("MariaDB");
