create temporary table lamps (id int auto_increment primary key, name varchar(50) unique not null, price decimal(9, 2));
