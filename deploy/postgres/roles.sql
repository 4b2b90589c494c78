-- The roles and databases of docker-compose.yml, made by psql when the server is new: deskmirror owns the warehouse,
-- reader can only look at it, and Metabase keeps its own things in a place of their own.
\set warehouse_password `cat /run/secrets/warehouse-password`
\set reader_password `cat /run/secrets/reader-password`
\set metabase_password `cat /run/secrets/metabase-password`

create role deskmirror login password :'warehouse_password';
create role metabase login password :'metabase_password';
create role reader login password :'reader_password';
-- A mistaken question ends by itself, and holds up nobody.
alter role reader set default_transaction_read_only = on;
alter role reader set statement_timeout = '5min';
alter role reader set idle_in_transaction_session_timeout = '1min';

create database deskmirror owner deskmirror;
create database metabase owner metabase;
revoke all on database deskmirror from public;
revoke all on database metabase from public;
grant connect on database deskmirror to reader;

\connect deskmirror
grant usage on schema public to reader;
-- Also for the tables that migrations will add.
alter default privileges for role deskmirror in schema public grant select on tables to reader;
