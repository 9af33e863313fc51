insert into lamps (name, price) values ('desk lamp', 19.90);
insert into lamps (name, price) values ('floor lamp; tall', 49.00);
