create temporary table lamps (id serial primary key, name text unique not null);
