-- A second version; with a price.
alter table lamps add price numeric(9, 2);
