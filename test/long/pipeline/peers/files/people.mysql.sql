create temporary table people (id int auto_increment primary key, name varchar(50) unique not null, mail text not null, password text not null);
insert into people (name, mail, password) values ('ada', 'ada@example.test', 'lamp;light'), ('bob', 'bob@example.test', 'desk');
