create table lamps (name text);
insert into lamps values ('lamp 1'), ('lamp; 2');
select count(*) as n from lamps;
